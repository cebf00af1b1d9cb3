//! Weights by which the trainer samples the items of a group, by rank or size of their rewards, and
//! the reliability by which to choose a filter. Rewards are not changed.

use serde::{Deserialize, Serialize};

use super::line::{Line, rounded};
use super::section::{Section, as_f64};
use super::shape::NoSettings;
use super::validate;
use super::validate::ValidationResult;
use crate::format::format_number;

/// Weights by rank (PF-PPO, arXiv 2409.06957). The weights of a group sum to 1; equal rewards have
/// equal weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// Only the best.
    BestOfN(NoSettings),
    /// The best, and any other.
    BestRandom(Best),
    /// The best and the worst.
    BestWorst(Best),
    /// In proportion to a power of |reward|.
    Power(Power),
}

/// Weight of the best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Best {
    /// Total weight of the best items, in (0, 1). The paper's text suggests 1/2.
    #[serde(default = "half")]
    pub best: f64,
}

/// The exponent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Exponent, in (0, 10].
    #[serde(default = "two")]
    pub exponent: f64,
}

fn half() -> f64 {
    0.5
}

fn two() -> f64 {
    2.0
}

/// The members that get the weight not assigned to the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// All members that are not among the best.
    Others,
    /// The worst members.
    Worst,
}

/// Weights by rank (PF-PPO, arXiv 2409.06957): the members with the highest reward share `best`,
/// the members of `rest` share 1 - `best`. Weights are in \[0, 1\] and sum to 1, equal if all
/// rewards are equal. Masked members are `None`. `best` = 1 is best-of-n.
#[must_use]
pub fn by_rank(rewards: &[Option<f64>], best: f64, rest: Rest) -> Vec<Option<f64>> {
    let known = || rewards.iter().flatten().copied();
    let most = known().fold(f64::NEG_INFINITY, f64::max);
    let least = known().fold(f64::INFINITY, f64::min);
    if most <= least {
        return uniform(rewards);
    }
    let first = |reward: f64| reward >= most;
    let second = |reward: f64| match rest {
        Rest::Others => reward < most,
        Rest::Worst => reward <= least,
    };
    let (firsts, seconds) = (
        known().filter(|reward| first(*reward)).count(),
        known().filter(|reward| second(*reward)).count(),
    );
    let weight = |reward: f64| {
        if first(reward) {
            best / as_f64(firsts)
        } else if second(reward) {
            (1.0 - best) / as_f64(seconds)
        } else {
            0.0
        }
    };
    rewards.iter().map(|reward| reward.map(weight)).collect()
}

/// Weights |r|^exponent / sum (PF-PPO, arXiv 2409.06957, `pow` in the code of verl), in \[0, 1\]
/// with sum 1. Equal weights if all rewards are 0. Masked members are `None`.
#[must_use]
pub fn by_power(rewards: &[Option<f64>], exponent: f64) -> Vec<Option<f64>> {
    let most = rewards
        .iter()
        .flatten()
        .fold(0.0, |most: f64, reward| most.max(reward.abs()));
    if most <= 0.0 {
        return uniform(rewards);
    }
    // Relative to the largest reward, so that powers do not overflow.
    let power = |reward: f64| (reward.abs() / most).powf(exponent);
    let sum: f64 = rewards.iter().flatten().map(|reward| power(*reward)).sum();
    rewards
        .iter()
        .map(|reward| reward.map(|reward| power(reward) / sum))
        .collect()
}

fn uniform(rewards: &[Option<f64>]) -> Vec<Option<f64>> {
    let n = rewards.iter().flatten().count();
    rewards
        .iter()
        .map(|reward| reward.map(|_| 1.0 / as_f64(n)))
        .collect()
}

/// Coefficient of determination, 1 - sum (s - s^)^2 / sum (s - mean s)^2, at most 1. `None` if the
/// lengths differ or the actual numbers are all equal.
#[must_use]
pub fn r_squared(actual: &[f64], predicted: &[f64]) -> Option<f64> {
    let (mean, std) = super::shape::moments(actual.iter().copied())?;
    let total = std * std * as_f64(actual.len());
    let missed: f64 = actual
        .iter()
        .zip(predicted)
        .map(|(s, p)| (s - p).powi(2))
        .sum();
    let known = actual.len() == predicted.len() && total > f64::EPSILON * mean.abs();
    known
        .then(|| 1.0 - missed / total)
        .filter(|value| value.is_finite())
}

/// Reliability of the rewards among the items a filter samples (PF-PPO, arXiv 2409.06957), at most
/// 1.
///
/// `samples` of (reward, actual score, weight) are assigned to `bins` of equal width by reward. The
/// result is [`r_squared`] of the weighted mean scores of the bins against their least-squares line
/// over the mean rewards. The paper groups samples by similar reward; equal widths are an own
/// choice.
///
/// `None` with fewer than three non-empty bins, or if the mean scores are all equal.
#[must_use]
pub fn reliability(samples: &[(f64, f64, f64)], bins: usize) -> Option<f64> {
    let drawn = || samples.iter().filter(|(.., weight)| *weight > 0.0);
    let low = drawn()
        .map(|(reward, ..)| *reward)
        .fold(f64::INFINITY, f64::min);
    let high = drawn()
        .map(|(reward, ..)| *reward)
        .fold(f64::NEG_INFINITY, f64::max);
    let mut sums = vec![(0.0, 0.0, 0.0); bins];
    for (reward, actual, weight) in drawn() {
        let sum = sums.get_mut(bin(super::shape::min_max(*reward, low, high), bins))?;
        *sum = (
            sum.0 + weight * reward,
            sum.1 + weight * actual,
            sum.2 + weight,
        );
    }
    let non_empty = sums.iter().filter(|(.., weight)| *weight > 0.0);
    let (x, y): (Vec<f64>, Vec<f64>) = non_empty
        .map(|(reward, actual, weight)| (reward / weight, actual / weight))
        .unzip();
    if x.len() < 3 {
        return None;
    }
    let ((mean_x, std_x), (mean_y, _)) = (
        super::shape::moments(x.iter().copied())?,
        super::shape::moments(y.iter().copied())?,
    );
    let covariance: f64 = x
        .iter()
        .zip(&y)
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let slope = covariance / (std_x * std_x * as_f64(x.len()));
    let line: Vec<f64> = x.iter().map(|x| mean_y + slope * (x - mean_x)).collect();
    r_squared(&y, &line)
}

/// The bin of a position in \[0, 1\].
fn bin(position: f64, bins: usize) -> usize {
    // The number is in [0, bins].
    ((position * as_f64(bins)) as usize).min(bins.saturating_sub(1))
}

impl Filter {
    /// The function's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::BestOfN(_) => "best_of_n",
            Self::BestRandom(_) => "best_random",
            Self::BestWorst(_) => "best_worst",
            Self::Power(_) => "power",
        }
    }

    /// Weight of each member; `None` for masked members. The weights sum to 1.
    #[must_use]
    pub fn weights(&self, rewards: &[Option<f64>]) -> Vec<Option<f64>> {
        match self {
            Self::BestOfN(_) => by_rank(rewards, 1.0, Rest::Worst),
            Self::BestRandom(of) => by_rank(rewards, of.best, Rest::Others),
            Self::BestWorst(of) => by_rank(rewards, of.best, Rest::Worst),
            Self::Power(of) => by_power(rewards, of.exponent),
        }
    }

    /// [`reliability`] of this filter on groups of (reward, actual score). Choose the filter with
    /// the highest.
    #[must_use]
    pub fn reliability(&self, groups: &[&[(f64, f64)]], bins: usize) -> Option<f64> {
        let weighed = groups.iter().flat_map(|group| {
            let rewards: Vec<_> = group.iter().map(|(reward, _)| Some(*reward)).collect();
            let weights = self.weights(&rewards);
            group
                .iter()
                .zip(weights)
                .map(|((reward, actual), weight)| (*reward, *actual, weight.unwrap_or(0.0)))
        });
        reliability(&weighed.collect::<Vec<_>>(), bins)
    }
}

impl Section for Filter {
    fn check(&self) -> ValidationResult {
        match self {
            Self::BestOfN(_) => Ok(()),
            Self::BestRandom(of) | Self::BestWorst(of) => {
                let open = of.best > 0.0 && of.best < 1.0;
                let message = format!(
                    "must be above 0 and below 1; found {} (for the best only, use `best_of_n`)",
                    format_number(of.best)
                );
                if open {
                    Ok(())
                } else {
                    Err(validate::PolicyError::at("best", message).under(self.name()))
                }
            }
            Self::Power(of) => validate::check_positive("power/exponent", of.exponent)
                .and_then(|()| validate::check_range("power/exponent", of.exponent, 0.0, 10.0)),
        }
    }

    fn explain(&self) -> Vec<Line> {
        let (formula, meaning) = match self {
            Self::BestOfN(_) => (
                "w = 1 for the best".to_owned(),
                "samples the best of a group only",
            ),
            Self::BestRandom(of) => (
                format!(
                    "w = {} for the best, {} shared by the others",
                    of.best,
                    rounded(1.0 - of.best)
                ),
                "samples the best and any other",
            ),
            Self::BestWorst(of) => (
                format!(
                    "w = {} for the best, {} for the worst",
                    of.best,
                    rounded(1.0 - of.best)
                ),
                "samples the best and the worst, whose rewards are the most reliable",
            ),
            Self::Power(of) => (
                format!("w = |R|^{} / sum", of.exponent),
                "samples rewards far from 0 more often",
            ),
        };
        vec![Line::new(self.name(), self.name(), formula, meaning)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: &[Option<f64>], expected: &[Option<f64>]) {
        let same = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-12,
            (a, b) => a.is_none() && b.is_none(),
        };
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(same),
            "{found:?} is not {expected:?}"
        );
    }

    const REWARDS: [Option<f64>; 6] = [Some(1.0), Some(0.0), None, Some(1.0), Some(0.5), Some(0.0)];

    #[test]
    fn rank_weights_match_reference_values() {
        assert_close(
            &by_rank(&REWARDS, 1.0, Rest::Worst),
            &[Some(0.5), Some(0.0), None, Some(0.5), Some(0.0), Some(0.0)],
        );
        assert_close(
            &by_rank(&REWARDS, 0.5, Rest::Worst),
            &[
                Some(0.25),
                Some(0.25),
                None,
                Some(0.25),
                Some(0.0),
                Some(0.25),
            ],
        );
        // Two share 0.6, three share 0.4.
        let others = 0.4 / 3.0;
        assert_close(
            &by_rank(&REWARDS, 0.6, Rest::Others),
            &[
                Some(0.3),
                Some(others),
                None,
                Some(0.3),
                Some(others),
                Some(others),
            ],
        );
        assert_close(
            &by_rank(&[Some(0.2), None, Some(0.2)], 0.6, Rest::Worst),
            &[Some(0.5), None, Some(0.5)],
        );
        assert_close(&by_rank(&[None], 0.6, Rest::Worst), &[None]);
    }

    #[test]
    fn power_weights_match_reference_values() {
        // 1, 0.25 and 4 of 5.25
        let weights = [Some(1.0 / 5.25), Some(0.25 / 5.25), None, Some(4.0 / 5.25)];
        assert_close(
            &by_power(&[Some(1.0), Some(0.5), None, Some(-2.0)], 2.0),
            &weights,
        );
        assert_close(
            &by_power(&[Some(0.0), Some(0.0)], 2.0),
            &[Some(0.5), Some(0.5)],
        );
        assert_close(
            &by_power(&[Some(f64::MAX), Some(0.0)], 2.0),
            &[Some(1.0), Some(0.0)],
        );
    }

    #[test]
    fn r_squared_matches_reference_values() {
        // Mean 2: 1 - (0.25 + 0 + 0.25) / (1 + 0 + 1)
        assert!((r_squared(&[1.0, 2.0, 3.0], &[1.5, 2.0, 2.5]).unwrap() - 0.75).abs() < 1e-12);
        assert_eq!(r_squared(&[1.0, 1.0], &[1.0, 1.0]), None);
        assert_eq!(r_squared(&[], &[]), None);
        assert_eq!(r_squared(&[1.0, 2.0], &[1.0]), None);
    }

    #[test]
    fn reliability_is_r_squared_of_the_bins() {
        // Three bins (0, 0), (1, 1), (2, 0): the line is flat at 1/3 and explains nothing.
        let flat = [(0.0, 0.0, 1.0), (1.0, 1.0, 1.0), (2.0, 0.0, 1.0)];
        assert!(reliability(&flat, 3).unwrap().abs() < 1e-12);
        // Scores 0, 1, 1: slope 1/2, line 1/6, 2/3, 7/6: 1 - (1/36 + 1/9 + 1/36) / (2/3) = 3/4.
        let rising = [
            (0.0, 0.0, 1.0),
            (1.0, 1.0, 1.0),
            (2.0, 1.0, 2.0),
            (1.0, 0.0, 0.0),
        ];
        assert!((reliability(&rising, 3).unwrap() - 0.75).abs() < 1e-12);
        assert_eq!(reliability(&rising[..2], 3), None);
        assert_eq!(reliability(&rising, 0), None);
    }

    #[test]
    fn filter_without_misleading_rewards_is_more_reliable() {
        // The rewards in the middle are misleading, the best and the worst are not.
        let groups: [&[(f64, f64)]; 2] = [
            &[(0.0, 0.0), (0.4, 0.9), (1.0, 1.0)],
            &[(0.2, 0.2), (0.6, 0.1), (0.8, 0.8)],
        ];
        let best_worst = Filter::BestWorst(Best { best: 0.5 })
            .reliability(&groups, 10)
            .unwrap();
        let all = Filter::BestRandom(Best { best: 0.5 })
            .reliability(&groups, 10)
            .unwrap();
        assert!(best_worst > 0.999 && all < 0.7, "{best_worst} {all}");
    }
}
