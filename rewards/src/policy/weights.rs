//! The `weights` section: weights of the items of a batch, by which advantages are multiplied, so
//! that items with a reward also represent those whose reward is missing.

use serde::{Deserialize, Serialize};

use super::line::Line;
use super::section::Section;
use super::validate::{PolicyError, ValidationResult, check_range};
use super::{RewardResult, Sample};
use crate::propensity::inverse_probability;

/// How items are weighted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// [`inverse_probability`].
    InverseProbability(InverseProbability),
}

/// What the probability of a reward depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InverseProbability {
    /// What defines a stratum, without duplicates.
    #[serde(default = "by_length")]
    pub by: Vec<Observable>,
    /// Maximum of 1 / probability, in \[1, 100\].
    #[serde(default = "four")]
    pub max: f64,
}

/// A property of an item that is known without its reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observable {
    /// The quarter of the batch by length in tokens, or in bytes if an item has no `tokens`.
    Length,
    /// Whether the completion was truncated.
    Truncated,
    /// The group.
    Group,
}

fn by_length() -> Vec<Observable> {
    vec![Observable::Length]
}

fn four() -> f64 {
    4.0
}

/// Number of strata by length.
const PARTS: usize = 4;

impl Observable {
    const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Truncated => "truncated",
            Self::Group => "group",
        }
    }
}

impl InverseProbability {
    /// Sets the weights of the items of the groups of a batch with one policy.
    pub(super) fn apply(&self, groups: &[&[Sample<'_>]], results: &mut [Vec<RewardResult<'_>>]) {
        let parts = length_parts(groups);
        let items = groups.iter().enumerate().flat_map(|(at, group)| {
            let uses = |of: Observable| self.by.contains(&of);
            group.iter().map(move |item| {
                (
                    uses(Observable::Group).then_some(at),
                    uses(Observable::Truncated) && item.truncated,
                )
            })
        });
        let uses_length = self.by.contains(&Observable::Length);
        let has_reward = results
            .iter()
            .flatten()
            .map(|result| result.reward.is_some());
        let items: Vec<_> = items
            .zip(parts)
            .map(|(stratum, part)| (stratum, uses_length.then_some(part)))
            .zip(has_reward)
            .collect();
        let found = inverse_probability(&items, self.max);
        for (result, propensity) in results.iter_mut().flatten().zip(found) {
            result.propensity = propensity;
        }
    }
}

/// The quarter of each item by length, in the order of the items. Equal lengths are in one.
fn length_parts(groups: &[&[Sample<'_>]]) -> Vec<usize> {
    let items = || groups.iter().copied().flatten();
    let in_tokens = items().all(|item| item.length().is_some());
    let length = |item: &Sample<'_>| match item.length() {
        Some(tokens) if in_tokens => tokens,
        _ => item.text.len() as f64,
    };
    let lengths: Vec<f64> = items().map(length).collect();
    let mut sorted = lengths.clone();
    sorted.sort_by(f64::total_cmp);
    let part = |length: &f64| {
        let shorter = sorted.partition_point(|other| other < length);
        PARTS * shorter / sorted.len().max(1)
    };
    lengths.iter().map(part).collect()
}

impl Section for Weights {
    fn check(&self) -> ValidationResult {
        let Self::InverseProbability(of) = self;
        let names = of.by.iter().map(|observable| observable.name());
        super::validate::check_distinct("by", names)
            .and_then(|()| check_range("max", of.max, 1.0, 100.0))
            .map_err(|error: PolicyError| error.under("inverse_probability"))
    }

    fn explain(&self) -> Vec<Line> {
        let Self::InverseProbability(of) = self;
        let names: Vec<&str> = of.by.iter().map(|observable| observable.name()).collect();
        let (names, max) = (names.join(", "), of.max);
        let formula = format!(
            "A = w (R - sum w R / sum w), w = min(1 / pi, {max}) / mean, pi = share with a reward \
             by {names}"
        );
        let meaning = "items with a reward count more where others have none";
        vec![Line::new(
            "inverse_probability",
            "inverse_probability",
            formula,
            meaning,
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_are_by_tokens_if_all_have_them() {
        let item = |tokens: Option<f64>, text: &'static str| Sample {
            tokens,
            text,
            ..Sample::default()
        };
        let of = [
            item(Some(40.0), "a"),
            item(Some(10.0), "aaaa"),
            item(Some(20.0), "aa"),
            item(Some(10.0), "aaa"),
        ];
        assert_eq!(length_parts(&[&of[..2], &of[2..]]), [3, 0, 2, 0]);
        let mixed = [item(Some(40.0), "a"), item(None, "bb")];
        assert_eq!(length_parts(&[&mixed]), [0, 2], "by bytes");
        assert_eq!(length_parts(&[]), [0; 0]);
    }
}
