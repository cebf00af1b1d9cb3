//! Conversion of results of the engine to wire types, and of replies to JSON or to JSON lines.

use std::borrow::Cow;
use std::sync::Arc;

use assay_core::Fault;
use assay_engine::{Reply, RewardPolicy};
use assay_record::GroupResult;
use assay_review::replay::Replay;
use assay_rewards::Estimate;
use assay_rewards::channel::drift::Change;
use assay_rewards::channel::report::{Rate, Source};
use assay_rewards::channel::{Comparison, Report};
use assay_wire::channels::{
    AfterBody, ChangeBody, ChannelReport, ComparisonBody, DifferenceBody, DriftBody, EstimateBody,
    ExplainedBody, PersistenceBody, PolicyBody, RateBody,
};
use assay_wire::replays::{ReplayBody, ReplaySide};
use assay_wire::reply::{ChannelBody, Counts, StreamLine};
use assay_wire::{Selected, Selection, Warning};

/// What determines the bytes of a reply in addition to its results.
#[derive(Clone, Default)]
pub struct Framing {
    /// Defects of the request that did not cause its rejection.
    pub warnings: Arc<[Warning]>,
    /// The keys of results that the request selected.
    pub selection: Selection,
}

impl Framing {
    /// Renders the selected parts of a reply as one JSON object.
    #[must_use]
    pub fn whole(&self, reply: &Reply) -> Vec<u8> {
        let (groups, channels) = (
            self.selection.has_groups().then(|| reply.groups()),
            self.selection.has_channels().then(|| reply.channels()),
        );
        let results = reply.grades().map(|grade| Selected {
            selection: self.selection,
            streamed: false,
            grade,
        });
        to_json(&SelectedReply {
            batch: reply.id().to_string(),
            results: results.collect(),
            groups,
            channels: channels.map(|channels| channels.iter().map(channel_body).collect()),
            warnings: &self.warnings,
        })
    }

    /// Renders the results of a reply, one per line.
    #[must_use]
    pub fn result_lines(&self, reply: &Reply) -> Vec<u8> {
        let mut lines = Vec::new();
        for grade in reply.grades() {
            let line = Selected {
                selection: self.selection,
                streamed: true,
                grade,
            };
            push_line(&mut lines, &line);
        }
        lines
    }

    /// Renders the lines that follow the results of a stream.
    #[must_use]
    pub fn closing_lines(&self, reply: &Reply) -> Vec<u8> {
        let mut lines = Vec::new();
        if self.selection.has_groups() {
            for group in reply.groups() {
                push_line(&mut lines, &StreamLine::Group(group.clone()));
            }
        }
        if self.selection.has_channels() {
            for channel in reply.channels() {
                push_line(&mut lines, &StreamLine::Channel(channel_body(channel)));
            }
        }
        for warning in self.warnings.iter() {
            push_line(&mut lines, &StreamLine::Warning(warning.clone()));
        }
        push_line(
            &mut lines,
            &StreamLine::End {
                batch: reply.id().to_string(),
                counts: counts(reply),
            },
        );
        lines
    }
}

/// A [`GradeReply`](assay_wire::reply::GradeReply) that has only the selected parts.
#[derive(serde::Serialize)]
struct SelectedReply<'a> {
    batch: String,
    results: Vec<Selected<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<&'a [GroupResult]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channels: Option<Vec<ChannelBody<'a>>>,
    warnings: &'a [Warning],
}

/// Renders the last line of a stream that failed.
pub fn error_line(fault: &Fault) -> Vec<u8> {
    let mut lines = Vec::new();
    push_line(
        &mut lines,
        &StreamLine::Error {
            error: fault.clone(),
        },
    );
    lines
}

fn push_line(lines: &mut Vec<u8>, line: &impl serde::Serialize) {
    lines.extend_from_slice(&to_json(line));
    lines.push(b'\n');
}

/// Serialises a wire type. The types have finite numbers and string keys, so this cannot fail.
fn to_json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn counts(reply: &Reply) -> Counts {
    let mut counts = Counts::default();
    for grade in reply.grades() {
        counts.items += 1;
        match &*grade.outcome {
            "graded" => counts.graded += 1,
            "ungradable" => counts.ungradable += 1,
            _ => counts.failed += 1,
        }
    }
    counts
}

fn channel_body(report: &Report) -> ChannelBody<'_> {
    let after = report.after;
    let bounds = |estimate: Estimate| [estimate.interval.low, estimate.interval.high];
    // The measured intervals do not apply to the rates after appeals.
    let interval_before_appeals = |rate: Option<Rate>| {
        rate.filter(|_| after.is_none())
            .map(|rate| bounds(rate.estimate))
    };
    let rates = report.rates();
    ChannelBody {
        channel: Cow::Borrowed(&report.channel),
        rho0: rates
            .map(|rates| rates.rho0)
            .or(report.rho0.map(|rate| rate.shrunk)),
        rho1: rates
            .map(|rates| rates.rho1)
            .or(report.rho1.map(|rate| rate.shrunk)),
        j: report.used_j().map(|j| j.value),
        rho0_interval: interval_before_appeals(report.rho0),
        rho1_interval: interval_before_appeals(report.rho1),
        j_interval: report.used_j().map(bounds),
        after_appeals: after.is_some(),
        uncorrected: report.uncorrected.map(|why| why.to_string()),
    }
}

fn estimate_body(estimate: Estimate) -> EstimateBody {
    EstimateBody {
        value: estimate.value,
        low: estimate.interval.low,
        high: estimate.interval.high,
    }
}

/// Converts the report of a channel.
#[must_use]
pub fn channel_report(report: &Report) -> ChannelReport {
    let rate = |rate: Rate| RateBody {
        value: rate.estimate.value,
        low: rate.estimate.interval.low,
        high: rate.estimate.interval.high,
        used: rate.shrunk,
        source: match rate.source {
            Source::Measured => "measured",
            Source::Calibrated => "calibrated",
            Source::Declared => "declared",
        }
        .to_owned(),
    };
    let change = |change: Change| ChangeBody {
        before: change.before,
        after: change.after,
        p_value: change.p_value,
    };
    ChannelReport {
        channel: report.channel.clone(),
        version: report.version,
        negatives: report.graded.negatives,
        positives: report.graded.positives,
        overturned_negatives: report.graded.overturned_negatives,
        overturned_positives: report.graded.overturned_positives,
        checked_negatives: report.checks[0],
        checked_positives: report.checks[1],
        right: report.right,
        rho0: report.rho0.map(rate),
        rho1: report.rho1.map(rate),
        j: report.j.map(estimate_body),
        after_appeals: report.after.map(|after| AfterBody {
            rho0: after.rates.rho0,
            rho1: after.rates.rho1,
            j: estimate_body(after.j),
        }),
        drift: DriftBody {
            negatives: report.drift.negatives.map(change),
            positives: report.drift.positives.map(change),
            drifting: report.drift.drifting,
        },
        persistence: PersistenceBody {
            repeats: report.persistence.repeats,
            flips: report.persistence.flips,
            share: report.persistence.share.map(estimate_body),
        },
        uncorrected: report.uncorrected.map(|why| why.to_string()),
    }
}

/// Converts a comparison of two channels.
#[must_use]
pub fn comparison(comparison: &Comparison<'_>) -> ComparisonBody {
    let difference = |estimate: Estimate| DifferenceBody {
        value: estimate.value,
        low: estimate.interval.low,
        high: estimate.interval.high,
        differs: !estimate.interval.contains(0.0),
    };
    ComparisonBody {
        first: channel_report(comparison.first),
        second: channel_report(comparison.second),
        rho0: comparison.rho0.map(difference),
        rho1: comparison.rho1.map(difference),
        j: comparison.j.map(difference),
    }
}

/// Converts a policy, with the descriptions of its parts.
#[must_use]
pub fn policy_body(policy: &RewardPolicy) -> PolicyBody {
    let explained = policy
        .rules()
        .explain()
        .into_iter()
        .map(|line| ExplainedBody {
            field: line.field,
            function: line.function.to_owned(),
            formula: line.formula,
            source: line.source.to_owned(),
            meaning: line.meaning,
        });
    PolicyBody {
        name: policy.name().to_owned(),
        hash: policy.hash().map(|hash| hash.to_string()),
        policy: policy.rules().to_json(),
        explained: explained.collect(),
    }
}

/// Converts a replay.
#[must_use]
pub fn replay_body(replay: &Replay) -> ReplayBody {
    let evidence = replay.replayed.evidence.as_ref();
    let changed = replay.changed_components();
    ReplayBody {
        grade: replay.recorded.grade.to_string(),
        flipped: replay.flipped(),
        changed_components: changed.into_iter().map(str::to_owned).collect(),
        recorded: ReplaySide::from(&replay.recorded),
        replayed: ReplaySide::from(&replay.replayed),
        evidence: evidence.map_or(serde_json::Value::Null, |evidence| {
            serde_json::Value::Object(evidence.facts())
        }),
        error: replay.replayed.error.as_ref().or(replay.failure()).cloned(),
    }
}
