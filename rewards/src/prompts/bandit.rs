//! Values of arms, which are categories of prompts or single prompts, drawn by a softmax (SEC,
//! DUMP).
//!
//! The papers reward an arm with the mean |advantage| of its rollouts. Here an arm earns the
//! expected variance of right answers under the noise-aware posterior instead: with noisy verdicts,
//! z-scores have unit scale on solved and hopeless prompts as well, so noise alone would keep an
//! arm attractive.

use std::collections::BTreeMap;

use crate::Visit;

use crate::group::{Grid, Prior};

/// Earnings of an arm from one visit: 4 E\[p (1 - p)\], in \[0, 1\], of the posterior of p given
/// the verdicts of the visit and the uniform prior (own derivation). 2/3 without verdicts.
#[must_use]
pub fn earned(grid: &Grid, judged: u32, passes: u32) -> f64 {
    let passes = passes.min(judged);
    let (k, fails) = (f64::from(passes), f64::from(judged - passes));
    if grid.is_clean() {
        // Beta(k + 1, n - k + 1): E[p (1 - p)] = (k + 1) (n - k + 1) / ((n + 2) (n + 3)).
        let n = f64::from(judged);
        return 4.0 * (k + 1.0) * (fails + 1.0) / ((n + 2.0) * (n + 3.0));
    }
    (4.0 * grid.posterior(Prior::UNIFORM, k, fails).spread()).clamp(0.0, 1.0)
}

/// Cache of [`earned`] for one grid: few pairs of counts occur in many visits to one channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Earnings(BTreeMap<(u32, u32), f64>);

impl Earnings {
    /// The cached [`earned`] of a visit. Every call must use the same grid.
    pub fn of(&mut self, grid: &Grid, visit: &Visit) -> f64 {
        let Visit { judged, passes, .. } = *visit;
        *self
            .0
            .entry((judged, passes))
            .or_insert_with(|| earned(grid, judged, passes))
    }
}

/// Earnings of an arm without visits: [`earned`] of the prior, 4 (1/2 - 1/3).
pub const UNVISITED: f64 = 2.0 / 3.0;

/// SEC (arXiv 2505.14970): Q of an arm, in \[0, 1\], after the earnings of each step, oldest first:
/// Q + a (earned - Q) with learning rate `rate` a in \[0, 1\]. Q starts at [`UNVISITED`], the value
/// of the prior; in the paper it starts at 0.
#[must_use]
pub fn sec(rate: f64, earned: impl IntoIterator<Item = f64>) -> f64 {
    earned
        .into_iter()
        .fold(UNVISITED, |q, earned| q + rate * (earned - q))
}

/// DUMP (arXiv 2504.09710): upper confidence bound of an arm, mean + sqrt(2 ln(N + 1) / (n + 1)),
/// at least `mean`. `mean` is the mean earnings of its last visits, n its number of rollouts, and N
/// that of all arms.
#[must_use]
pub fn dump(mean: f64, rollouts: f64, all: f64) -> f64 {
    mean + (2.0 * (all.max(0.0) + 1.0).ln() / (rollouts.max(0.0) + 1.0)).sqrt()
}

/// Softmax exp(value / temperature) / sum, each in \[0, 1\]. Values must be finite and
/// `temperature` above 0. Empty for no values.
#[must_use]
pub fn softmax(values: &[f64], temperature: f64) -> Vec<f64> {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut shares: Vec<f64> = values
        .iter()
        .map(|value| ((value - most) / temperature).exp())
        .collect();
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Rates;

    #[test]
    fn even_prompts_earn_more_than_solved_ones() {
        let grid = Grid::new(Rates::CLEAN).unwrap();
        // 4 * 9 * 1 / (10 * 11) = 0.327273; 4 * 5 * 5 / 110 = 0.909091; 4 / 6.
        assert!((earned(&grid, 8, 8) - 0.327_273).abs() < 1e-6);
        assert!((earned(&grid, 8, 4) - 0.909_091).abs() < 1e-6);
        assert!((earned(&grid, 0, 0) - UNVISITED).abs() < 1e-12);
    }

    #[test]
    fn noise_lowers_the_earnings_of_a_mixed_group() {
        // 7 of 8 with rates (0.1, 0.2): four times the 0.116291 of the posterior; with a clean
        // verifier it would be 4 * 8 * 2 / 110.
        let noisy = Grid::new(Rates::new(0.1, 0.2).unwrap()).unwrap();
        assert!((earned(&noisy, 8, 7) - 0.465_164).abs() < 1e-5);
        assert!(earned(&noisy, 8, 7) < earned(&Grid::new(Rates::CLEAN).unwrap(), 8, 7));
    }

    #[test]
    fn q_moves_towards_earnings() {
        // 2/3 + 0.5 (0.9 - 2/3) = 0.783333; + 0.5 (0.1 - 0.783333) = 0.441667.
        assert!((sec(0.5, [0.9, 0.1]) - 0.441_667).abs() < 1e-6);
        assert!((sec(0.5, []) - UNVISITED).abs() < 1e-12);
    }

    #[test]
    fn upper_confidence_bound_matches_the_formula() {
        // 0.5 + sqrt(2 ln 101 / 11) = 0.5 + 0.916031.
        assert!((dump(0.5, 10.0, 100.0) - 1.416_031).abs() < 1e-6);
        assert!((dump(0.5, 0.0, 0.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn softmax_matches_reference_values() {
        // e^0 : e^1 : e^-1 over 1 + 2.718282 + 0.367879 = 4.086161.
        let shares = softmax(&[0.0, 0.1, -0.1], 0.1);
        assert!((shares[0] - 0.244_728).abs() < 1e-6 && (shares[1] - 0.665_241).abs() < 1e-6);
        assert!(softmax(&[], 1.0).is_empty());
        assert!((softmax(&[1e300, -1e300], 0.1)[0] - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn shares_sum_to_one(
            values in prop::collection::vec(-50.0..50.0f64, 1..20),
            temperature in 0.01..10.0f64,
        ) {
            prop_assert!((softmax(&values, temperature).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
