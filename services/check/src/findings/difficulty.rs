//! All rollouts of a row are right, or none is: its group has no learning signal. Or most of them
//! agree on another answer than the gold.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Sink;
use super::code::{Code, code};
use super::rule::DatasetRule;
use crate::Rollouts;
use crate::graded_row::{GradedRow, excerpt};
use crate::probes::Purpose;
use crate::rollouts::RolloutCounts;
use crate::thresholds::{Thresholds, is_share};

pub(super) const ALWAYS_SOLVED: Code = code!("always-solved", Warning);
pub(super) const NEVER_SOLVED: Code = code!("never-solved", Warning);

pub(super) const DISAGREE: Code = code!("rollouts-disagree", Warning);

/// Checks the results of rollouts.
pub(super) struct Difficulty<'a> {
    pub(super) rollouts: Option<&'a Rollouts>,
}

impl DatasetRule for Difficulty<'_> {
    fn add_row(&mut self, row: &GradedRow, sink: &mut Sink<'_>) {
        let counts = self
            .rollouts
            .and_then(|rollouts| rollouts.counts(&row.key))
            .unwrap_or_else(|| count_in_row(row));
        let RolloutCounts { graded, right } = counts;
        if let Some(message) = agree_against_gold(row, sink.thresholds()) {
            sink.add(&DISAGREE, &row.location, &row.key, message);
        }
        if graded < sink.thresholds().rollouts {
            return;
        }
        if right == graded {
            sink.add(
                &ALWAYS_SOLVED,
                &row.location,
                &row.key,
                format!("all {graded} rollouts are right"),
            );
        } else if right == 0 {
            sink.add(
                &NEVER_SOLVED,
                &row.location,
                &row.key,
                format!("none of {graded} rollouts is right; check the gold"),
            );
        }
    }
}

/// The answer of most rollouts, if it is wrong.
fn agree_against_gold(row: &GradedRow, thresholds: &Thresholds) -> Option<String> {
    let (mut answers, mut all) = (BTreeMap::<&str, u64>::new(), 0);
    for (probe, grade) in row.graded() {
        if probe.purpose == Purpose::Rollout
            && let Some(answer) = &grade.normal_form
        {
            all += 1;
            if !grade.pass {
                *answers.entry(answer).or_default() += 1;
            }
        }
    }
    let (answer, most) = answers.into_iter().max_by_key(|(_, count)| *count)?;
    let is_majority = is_share(most, all, thresholds.rollouts_agree_share);
    (all >= thresholds.rollout_answers && is_majority).then(|| {
        format!(
            "{most} of {all} rollouts answer `{}`, which is graded as wrong; check the gold",
            excerpt(answer)
        )
    })
}

/// Counts the rollouts in the column of the row: graded completions, and rewards, of which 1 or
/// more is right.
fn count_in_row(row: &GradedRow) -> RolloutCounts {
    let mut counts = RolloutCounts::default();
    let completions = row
        .graded()
        .filter(|(probe, _)| probe.purpose == Purpose::Rollout)
        .map(|(_, grade)| grade.pass);
    let values = row
        .subject
        .as_ref()
        .ok()
        .and_then(|subject| subject.rollouts.as_ref())
        .into_iter()
        .flatten();
    let rewards = values.filter_map(|value| match value {
        Value::Bool(right) => Some(*right),
        Value::Number(reward) => Some(reward.as_f64()? >= 1.0),
        _ => None,
    });
    for right in completions.chain(rewards) {
        counts.graded += 1;
        counts.right += u32::from(right);
    }
    counts
}
