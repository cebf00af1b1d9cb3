//! Channels, adjudications, policies and prompts as JSON.

use std::collections::BTreeMap;

use assay_core::channel::{Adjudication, Appeal, Calibration};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::grades::GradeDetail;
use crate::request::is_showable;

/// A second verifier's look at an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AppealBody {
    /// Grader and version of the judge.
    #[schema(example = "math@1")]
    pub judge: String,
    /// Probability with which the item was chosen.
    pub probability: f64,
    /// Verdict of the judge; null when it could not grade.
    pub verdict: Option<String>,
    /// Whether that is a pass.
    pub pass: Option<bool>,
    /// Its score.
    pub score: Option<f64>,
    /// Whether the judge's verdict had the last word.
    pub binding: bool,
    /// Whether it overturned the grader's.
    pub overturned: bool,
    /// Why the judge could not grade, or why its verdict did not count.
    pub reason: Option<String>,
}

impl From<&Appeal> for AppealBody {
    fn from(appeal: &Appeal) -> Self {
        Self {
            judge: appeal.judge.clone(),
            probability: appeal.probability,
            verdict: appeal.verdict.clone(),
            pass: appeal.pass,
            score: appeal.score,
            binding: appeal.binding,
            overturned: appeal.overturned,
            reason: appeal.reason.clone(),
        }
    }
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EstimateBody {
    /// The number.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// One rate of a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RateBody {
    /// The rate.
    pub value: f64,
    /// Lower bound of its 95 % interval.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// The rate drawn towards the grader's other channels: what corrections use.
    pub used: f64,
    /// Where it comes from: `measured`, `calibrated` or `declared`.
    pub source: String,
}

/// What is known of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelReport {
    /// Grader and task family.
    #[schema(example = "math/gsm-like")]
    pub channel: String,
    /// Version of the grader.
    pub version: u32,
    /// Items that did not pass.
    pub negatives: u64,
    /// Items that passed.
    pub positives: u64,
    /// Negatives that became passes.
    pub overturned_negatives: u64,
    /// Positives that are passes no more.
    pub overturned_positives: u64,
    /// Negatives that were checked.
    pub checked_negatives: u64,
    /// Positives that were checked.
    pub checked_positives: u64,
    /// Share of items that are right.
    pub right: Option<f64>,
    /// False-positive rate; null when not known.
    pub rho0: Option<RateBody>,
    /// False-negative rate; null when not known.
    pub rho1: Option<RateBody>,
    /// 1 - rho0 - rho1.
    pub j: Option<EstimateBody>,
    /// The same after appeals and audits whose judges have the last word; null without any.
    pub after_appeals: Option<AfterBody>,
    /// Whether the checks changed between the older and the newer half.
    pub drift: DriftBody,
    /// Whether the same answer always gets the same verdict.
    pub persistence: PersistenceBody,
    /// Why its scores are not corrected; null when they may be.
    pub uncorrected: Option<String>,
}

/// A channel after verdicts of judges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AfterBody {
    /// False-positive rate.
    pub rho0: f64,
    /// False-negative rate.
    pub rho1: f64,
    /// 1 - rho0 - rho1.
    pub j: EstimateBody,
}

/// A share before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangeBody {
    /// Share of checks that disagreed, in the older half.
    pub before: f64,
    /// In the newer half.
    pub after: f64,
    /// Probability of such a difference if nothing changed.
    pub p_value: f64,
}

/// Whether a channel changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DriftBody {
    /// Of negatives; null with too few checks.
    pub negatives: Option<ChangeBody>,
    /// Of positives.
    pub positives: Option<ChangeBody>,
    /// Whether either changed.
    pub drifting: bool,
}

/// Whether the same answer always gets the same verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PersistenceBody {
    /// Completions that stood in their batch before, with the same task.
    pub repeats: u64,
    /// Of those, given another verdict.
    pub flips: u64,
    /// Share of the noise that stays with an answer: 1 is persistent, 0 fresh; null without repeats
    /// or noise.
    pub share: Option<EstimateBody>,
}

/// All channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChannelsBody {
    /// By name and version.
    pub channels: Vec<ChannelReport>,
}

/// What two channels, or two versions of one, differ in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparisonBody {
    /// One.
    pub one: ChannelReport,
    /// The other.
    pub other: ChannelReport,
    /// The other's false-positive rate minus the one's.
    pub rho0: Option<DifferenceBody>,
    /// The same of false-negative rates.
    pub rho1: Option<DifferenceBody>,
    /// The same of J.
    pub j: Option<DifferenceBody>,
}

/// A difference with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DifferenceBody {
    /// The difference.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Whether the interval leaves out 0.
    pub differs: bool,
}

/// Rates found on labelled data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationBody {
    /// Grader and task family.
    #[schema(example = "math/gsm-like", pattern = "^[^/]+/.+$", max_length = 1024)]
    pub channel: String,
    /// Version of the grader.
    pub version: u32,
    /// How the truth was known: `labels` or `dawid_skene`.
    #[schema(example = "labels", pattern = "^(labels|dawid_skene)$")]
    pub method: String,
    /// Right answers, at least 1.
    #[schema(minimum = 1, maximum = 1e15)]
    pub right: f64,
    /// Of those, not passed.
    #[schema(minimum = 0, maximum = 1e15)]
    pub right_refused: f64,
    /// Wrong answers, at least 1.
    #[schema(minimum = 1, maximum = 1e15)]
    pub wrong: f64,
    /// Of those, passed.
    #[schema(minimum = 0, maximum = 1e15)]
    pub wrong_passed: f64,
}

impl From<Calibration> for CalibrationBody {
    fn from(known: Calibration) -> Self {
        Self {
            channel: known.channel,
            version: known.version,
            method: known.method,
            right: known.right,
            right_refused: known.right_refused,
            wrong: known.wrong,
            wrong_passed: known.wrong_passed,
        }
    }
}

impl CalibrationBody {
    /// The calibration, not dated yet.
    ///
    /// # Errors
    /// The name of the field that cannot be meant, and why.
    pub fn check(self) -> Result<Calibration, (&'static str, String)> {
        let Self {
            channel,
            version,
            method,
            right,
            right_refused,
            wrong,
            wrong_passed,
        } = self;
        let family = channel.split_once('/').map(|(_, family)| family);
        if !is_showable(&channel) || family.is_none_or(str::is_empty) {
            let channel: String = channel
                .chars()
                .filter(|letter| !letter.is_control())
                .take(60)
                .collect();
            return Err((
                "channel",
                format!("a channel is a grader and a task family, as `math/default`: `{channel}`"),
            ));
        }
        if !["labels", "dawid_skene"].contains(&method.as_str()) {
            return Err((
                "method",
                format!("`method` is `labels` or `dawid_skene`: `{method}`"),
            ));
        }
        for (of, field, part, whole) in [
            ("right", "right_refused", right_refused, right),
            ("wrong", "wrong_passed", wrong_passed, wrong),
        ] {
            if !(1.0..=1e15).contains(&whole) {
                return Err((
                    of,
                    "both `right` and `wrong` count at least one answer".to_owned(),
                ));
            }
            if !(0.0..=whole).contains(&part) {
                return Err((
                    field,
                    format!("`{field}` is a part of the {whole} answers of its truth: {part}"),
                ));
            }
        }
        Ok(Calibration {
            channel,
            version,
            method,
            right,
            right_refused,
            wrong,
            wrong_passed,
            time_us: 0,
        })
    }
}

/// A grade for an operator to look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DrawnBody {
    /// The grade; null when no grade fits that was not drawn before.
    pub grade: Option<GradeDetail>,
    /// Probability with which it was drawn.
    pub probability: Option<f64>,
}

/// An operator's word on a grade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdjudicateRequest {
    /// Whether the completion is right.
    pub pass: bool,
    /// Why.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub note: Option<String>,
}

/// An operator's word on a grade, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AdjudicationBody {
    /// Id of the grade.
    pub grade: String,
    /// Its channel.
    pub channel: String,
    /// What the grader said.
    pub graded_pass: bool,
    /// What is true.
    pub pass: bool,
    /// What it counts beside others for the rates of the channel; null when the operator chose the
    /// grade, and then it counts for none.
    pub weight: Option<f64>,
    /// Who adjudicated.
    pub caller: String,
    /// Why.
    pub note: Option<String>,
    /// When, in microseconds since the Unix epoch.
    pub time_us: i64,
}

impl From<Adjudication> for AdjudicationBody {
    fn from(known: Adjudication) -> Self {
        Self {
            grade: known.grade.to_string(),
            channel: known.channel,
            graded_pass: known.graded_pass,
            pass: known.pass,
            weight: known.weight,
            caller: known.caller,
            note: known.note,
            time_us: known.time_us,
        }
    }
}

/// One policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyBody {
    /// Its name; `inline` for one that a request wrote out.
    pub name: String,
    /// Hash of its body; null for the default one.
    pub hash: Option<String>,
    /// The policy itself.
    #[schema(value_type = Object)]
    pub policy: Value,
    /// What each part of it does, in the order in which they act.
    pub explained: Vec<ExplainedBody>,
}

/// What one part of a policy does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedBody {
    /// Where it stands in the policy.
    pub field: String,
    /// Name of the function.
    pub function: String,
    /// The formula, with the policy's own numbers.
    pub formula: String,
    /// Where the formula comes from.
    pub source: String,
    /// What it means for a reward.
    pub meaning: String,
}

/// The policies of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PoliciesBody {
    /// By name.
    pub policies: Vec<PolicyBody>,
}

/// Which prompts to sample next.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SuggestRequest {
    /// Name of the run whose history counts.
    #[schema(example = "qwen3-0.6b-math")]
    pub run: String,
    /// Prompts to choose from, visited or not; all that were visited when empty.
    #[serde(default)]
    pub keys: Vec<String>,
    /// Category of a prompt, by key, for `sec` and `dump`.
    #[serde(default)]
    pub categories: BTreeMap<String, String>,
    /// Channel whose rates the verdicts came through, as in `math/default`.
    #[serde(default)]
    pub channel: Option<String>,
    /// The same seed over the same history gives the same answer.
    #[serde(default)]
    pub seed: Option<u64>,
    /// How to choose: `strategy`, `count`, `rollouts`, `allocation`, `budget` and the others of the
    /// documentation.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub settings: Map<String, Value>,
}

/// Prompts to sample next, best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuggestionsBody {
    /// The prompts.
    pub prompts: Vec<SuggestionBody>,
}

/// A prompt to sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuggestionBody {
    /// Its key.
    pub prompt_key: String,
    /// How many rollouts.
    pub rollouts: u32,
    /// What the strategy found it worth; comparable within one answer.
    pub value: f64,
    /// How often it was visited.
    pub visits: usize,
}
