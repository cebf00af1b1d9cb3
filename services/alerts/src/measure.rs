//! Measures what the rules are about, for each run, channel and the node.

use std::collections::BTreeMap;

use assay_engine::Totals;
use assay_record::chart::{Counted, Number, Sums, Topic};
use assay_record::{RecentChannel, RecentRun};
use assay_rewards::channel::Ledger;
use form_urlencoded::Serializer;

use crate::reward_drop::reward_drop;
use crate::rules::Measure;

/// Steps that are read of a run, as a multiple of the steps that are measured: a drop of the reward
/// is compared with earlier steps.
pub(crate) const HISTORY: u32 = 4;

/// What a problem is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Node,
    Run(String),
    Channel(String),
}

/// A value of a subject.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observation {
    pub(crate) subject: Subject,
    /// Compared with the threshold of the rule.
    pub(crate) value: f64,
    /// Compared with the value below which an open problem is closed.
    pub(crate) lasting: f64,
    /// Number of items that were measured.
    pub(crate) items: u64,
    /// Of those, the ones that cause the problem.
    pub(crate) causes: u64,
    pub(crate) message: String,
    pub(crate) link: Option<String>,
}

/// What the engine has counted in the last minutes.
pub(crate) fn node(measure: Measure, totals: &Totals) -> Vec<Observation> {
    let (value, items, causes, message, link) = match measure {
        Measure::Unrecorded => (
            float(totals.unrecorded),
            1,
            totals.unrecorded,
            format!("{} grades could not be recorded", totals.unrecorded),
            None,
        ),
        Measure::Failures => (
            share(totals.failed_without_step, totals.without_step),
            totals.without_step,
            totals.failed_without_step,
            format!(
                "{} of {} items without a run or step failed",
                totals.failed_without_step, totals.without_step
            ),
            Some(grades(&[("outcome", "failed")])),
        ),
        Measure::Truncation => (
            share(totals.truncated_without_step, totals.without_step),
            totals.without_step,
            totals.truncated_without_step,
            format!(
                "{} of {} completions without a run or step were truncated",
                totals.truncated_without_step, totals.without_step
            ),
            Some(grades(&[("truncated", "true")])),
        ),
        _ => return Vec::new(),
    };
    if items == 0 {
        return Vec::new();
    }
    vec![Observation {
        subject: Subject::Node,
        value,
        lasting: value,
        items,
        causes,
        message,
        link,
    }]
}

/// The last `steps` steps of a run.
pub(crate) fn run(
    measure: Measure,
    run: &RecentRun,
    steps: u32,
    threshold: f64,
) -> Option<Observation> {
    let name = run.summary.run.as_str();
    let last = run.summary.last_step?;
    let mut newest = Counted::default();
    let first = last.saturating_sub(i64::from(steps) - 1);
    run.steps
        .range(first..)
        .for_each(|(_, counted)| newest.add(counted));
    let from = run.steps.range(first..).next()?.0.to_string();
    let observed = |value, lasting, items, causes, message, link| {
        Some(Observation {
            subject: Subject::Run(name.to_owned()),
            value,
            lasting,
            items,
            causes,
            message,
            link: Some(link),
        })
    };
    match measure {
        Measure::Failures => {
            let (failed, items) = (newest.grades_of(Topic::Outcome, "failed"), newest.grades());
            let value = share(failed, items);
            let message = format!("{failed} of {items} items failed in the last {steps} steps");
            let link = grades(&[("run", name), ("outcome", "failed"), ("step_min", &from)]);
            observed(value, value, items, failed, message, link)
        }
        Measure::Truncation => {
            let truncated = newest.grades_of(Topic::Truncated, "truncated");
            let (value, items) = (share(truncated, newest.grades()), newest.grades());
            let message = format!(
                "{truncated} of {items} completions were truncated in the last {steps} steps"
            );
            let link = grades(&[("run", name), ("truncated", "true"), ("step_min", &from)]);
            observed(value, value, items, truncated, message, link)
        }
        Measure::RewardDrop => {
            let sums: Vec<Sums> = run
                .steps
                .values()
                .map(|counted| counted.sums(Number::Reward))
                .filter(|sums| sums.count > 0)
                .collect();
            let drop = reward_drop(&sums, steps as usize)?;
            let message = format!(
                "mean reward {:.3} at step {last}, {:.3} a few steps before",
                drop.mean, drop.before
            );
            let link = grades(&[("run", name), ("step", &last.to_string())]);
            let (value, lasting) = (drop.recent, drop.lasting);
            observed(value, lasting, drop.rewards, drop.rewards, message, link)
        }
        Measure::Queue => {
            let seconds = newest.quantile(Number::QueueUs, 0.95)? / 1e6;
            let items = newest.sums(Number::QueueUs).count;
            let is_slow = |bin| Number::QueueUs.bin_start(bin) >= threshold * 1e6;
            let slow = newest
                .bins(Number::QueueUs)
                .filter(|(bin, _)| is_slow(*bin));
            let slow = slow.map(|(_, sums)| sums.count).sum();
            let message = format!("5 % of the items wait for more than {seconds:.1} s");
            let link = grades(&[("run", name)]);
            observed(seconds, seconds, items, slow, message, link)
        }
        _ => None,
    }
}

/// Channels that were used lately, with their rates.
pub(crate) fn channels(
    measure: Measure,
    recent: &[RecentChannel],
    ledger: &Ledger,
) -> Vec<Observation> {
    let drifting: BTreeMap<(&str, u32), bool> = ledger
        .reports()
        .map(|report| ((&*report.channel, report.version), report.drift.drifting))
        .collect();
    let observed = recent.iter().filter_map(|channel| {
        let (passed, failed) = (channel.positives, channel.negatives);
        let items = passed.saturating_add(failed);
        let (value, message) = match measure {
            Measure::OneSided => {
                let side = if passed == 0 { "passed" } else { "failed" };
                let message = format!("none of the last {items} items {side}");
                (share(passed.max(failed), items), message)
            }
            Measure::Drift => {
                let key = (channel.channel.as_str(), channel.version);
                let is_drifting = drifting.get(&key).copied().unwrap_or(false);
                let message = "the error rates have changed".to_owned();
                (f64::from(u8::from(is_drifting)), message)
            }
            _ => return None,
        };
        Some(Observation {
            subject: Subject::Channel(channel.channel.clone()),
            value,
            lasting: value,
            items,
            causes: items,
            message,
            link: Some(grades(&[("channel", &channel.channel)])),
        })
    });
    observed.collect()
}

/// The page that lists these grades.
fn grades(filter: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(filter);
    let query = query.finish();
    if query.is_empty() {
        "/ui/grades".to_owned()
    } else {
        format!("/ui/grades?{query}")
    }
}

fn share(part: u64, whole: u64) -> f64 {
    float(part) / float(whole.max(1))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of grades are far below 2^52"
)]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use assay_record::RunSummary;

    use super::*;

    #[test]
    fn measures_what_the_engine_could_not_record() {
        let totals = Totals {
            unrecorded: 3,
            ..Totals::default()
        };
        let observed = node(Measure::Unrecorded, &totals);
        assert_eq!((observed[0].causes, observed[0].items), (3, 1));
        assert!((observed[0].value - 3.0).abs() < 1e-12 && observed[0].link.is_none());
        let nothing = node(Measure::Failures, &totals);
        assert_eq!(nothing, [], "there are no items without a step");
    }

    #[test]
    fn measures_the_queue_of_the_last_steps() {
        // Bin 20 has times from 0.52 to 1.05 s, bin 26 from 33.6 to 67 s.
        let step = |items: &[(i32, u64)]| {
            let mut counted = Counted::default();
            for (bin, count) in items {
                let sums = Sums {
                    count: *count,
                    ..Sums::default()
                };
                counted.numbers.insert((Number::QueueUs, *bin), sums);
            }
            counted
        };
        let recent = RecentRun {
            summary: RunSummary {
                run: "r".to_owned(),
                last_step: Some(9),
                ..RunSummary::default()
            },
            steps: BTreeMap::from([(1, step(&[(26, 900)])), (8, step(&[(20, 90), (26, 10)]))]),
        };
        let observed = run(Measure::Queue, &recent, 2, 30.0).unwrap();
        assert_eq!((observed.items, observed.causes), (100, 10));
        assert!((33.0..68.0).contains(&observed.value), "{observed:?}");
        let observed = run(Measure::Queue, &recent, 9, 30.0).unwrap();
        assert_eq!(observed.items, 1_000);
    }
}
