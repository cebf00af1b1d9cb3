//! The graded members of groups.

use std::collections::BTreeMap;

use assay_core::Reward;
use assay_rewards::Member;

use super::sample::Sample;
use crate::ObjectiveError;

/// The rows of a batch that are used by an estimator, by group.
pub(super) struct Graded<'a> {
    pub(super) samples: &'a [Sample],
    /// Used rows of every group.
    pub(super) groups: BTreeMap<usize, Vec<usize>>,
    pub(super) dropped: usize,
}

impl<'a> Graded<'a> {
    pub(super) fn new(samples: &'a [Sample], compares: bool) -> Result<Self, ObjectiveError> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (row, sample) in samples.iter().enumerate() {
            let rows = groups.entry(sample.group).or_default();
            if let Some(reward) = sample.reward() {
                if !reward.is_finite() {
                    return Err(ObjectiveError::Sample {
                        row,
                        what: "the reward is not finite",
                    });
                }
                rows.push(row);
            }
        }
        let before = groups.len();
        if compares {
            groups.retain(|_, rows| rows.len() >= 2);
        }
        Ok(Self {
            samples,
            dropped: before - groups.len(),
            groups,
        })
    }

    /// `None` for every row.
    pub(super) fn none_per_row<T: Clone>(&self) -> Vec<Option<T>> {
        vec![None; self.samples.len()]
    }

    /// Used rows, by group and then in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, &'a Sample)> {
        let rows = self.groups.values().flatten();
        rows.filter_map(|row| Some((*row, self.samples.get(*row)?)))
    }

    /// The result of `formula` for every used row.
    pub(super) fn each<T: Clone>(
        &self,
        formula: impl Fn(usize, &Sample) -> Result<Option<T>, ObjectiveError>,
    ) -> Result<Vec<Option<T>>, ObjectiveError> {
        let mut values = self.none_per_row();
        for (row, sample) in self.rows() {
            set_value(&mut values, row, formula(row, sample)?);
        }
        Ok(values)
    }

    /// The members of a group in the representation of the service.
    pub(super) fn members(&self, rows: &[usize]) -> Vec<Member<'static>> {
        let samples = rows.iter().filter_map(|row| self.samples.get(*row));
        let member = |sample: &Sample| Member {
            reward: sample.reward().and_then(|reward| Reward::new(reward).ok()),
            pass: sample.pass,
            tokens: Some(sample.tokens as f64),
            answer: None,
        };
        samples.map(member).collect()
    }
}

pub(super) fn set_value<T>(values: &mut [Option<T>], row: usize, value: Option<T>) {
    if let Some(slot) = values.get_mut(row) {
        *slot = value;
    }
}
