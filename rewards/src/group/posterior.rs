//! Posterior of the share p of right answers given noisy verdicts.
//!
//! p is discretised to the midpoints of 64 equal cells of \[0, 1\], because the posterior is a Beta
//! distribution for clean verdicts only.

use serde::{Deserialize, Serialize};

use crate::Rates;

/// Number of cells of the grid.
pub const CELLS: usize = 64;
/// [`CELLS`] as `f64`.
const CELLS_F: f64 = 64.0;
/// A prompt with p below this is hopeless, one with p above 1 minus this is solved. Neither
/// contributes a useful gradient.
pub const EDGE: f64 = 0.05;

/// Beta distribution of p before any verdict. Both parameters must be above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// Pseudo-count of right answers.
    pub alpha: f64,
    /// Pseudo-count of wrong answers.
    pub beta: f64,
}

impl Prior {
    /// The uniform distribution, Beta(1, 1).
    pub const UNIFORM: Self = Self {
        alpha: 1.0,
        beta: 1.0,
    };
}

impl Default for Prior {
    fn default() -> Self {
        Self::UNIFORM
    }
}

/// The grid of one channel, with precomputed logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    rates: Rates,
    /// ln p, ln (1 - p), ln q, ln (1 - q) at the midpoint of each cell.
    logs: [[f64; 4]; CELLS],
}

impl Grid {
    /// The grid of a channel; `None` unless J > 0.
    #[must_use]
    pub fn new(rates: Rates) -> Option<Self> {
        (rates.j() > 0.0).then(|| {
            let mut logs = [[0.0; 4]; CELLS];
            for (p, logs) in midpoints().zip(&mut logs) {
                let q = rates.q(p);
                *logs = [p.ln(), (1.0 - p).ln(), q.ln(), (1.0 - q).ln()];
            }
            Self { rates, logs }
        })
    }

    /// The rates of the channel.
    #[must_use]
    pub fn rates(&self) -> Rates {
        self.rates
    }

    /// Whether the verifier makes no errors, so that posteriors are Beta distributions.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.rates == Rates::CLEAN
    }

    /// Posterior of p: prior(p) q^passes (1 - q)^fails with q = rho0 + J p, normalised over the
    /// cells (own derivation). Counts may be sums of weights; negative counts are treated as 0.
    /// Without verdicts it equals the prior.
    #[must_use]
    pub fn posterior(&self, prior: Prior, passes: f64, fails: f64) -> Posterior {
        let (passes, fails) = (passes.max(0.0), fails.max(0.0));
        let mut weights = [0.0; CELLS];
        let mut most = f64::NEG_INFINITY;
        for ([ln_p, ln_1p, ln_q, ln_1q], weight) in self.logs.iter().zip(&mut weights) {
            // 0 ln 0 would be NaN; the likelihood of no verdicts is 1.
            let evidence = |count: f64, log: f64| if count > 0.0 { count * log } else { 0.0 };
            *weight = evidence(passes, *ln_q)
                + evidence(fails, *ln_1q)
                + (prior.alpha - 1.0) * ln_p
                + (prior.beta - 1.0) * ln_1p;
            most = most.max(*weight);
        }
        let mut sum = 0.0;
        for weight in &mut weights {
            *weight = (*weight - most).exp();
            sum += *weight;
        }
        // The sum is not positive and finite only if counts overflow; use the uniform distribution
        // then.
        let scale = if sum > 0.0 && sum.is_finite() {
            1.0 / sum
        } else {
            0.0
        };
        for weight in &mut weights {
            *weight = if scale > 0.0 {
                *weight * scale
            } else {
                1.0 / CELLS_F
            };
        }
        Posterior { weights }
    }
}

/// Midpoints of the cells, ascending.
fn midpoints() -> impl Iterator<Item = f64> {
    (0..CELLS).map(|cell| (super::as_f64(cell) + 0.5) / CELLS_F)
}

/// Distribution of p over the cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    weights: [f64; CELLS],
}

impl Posterior {
    /// E\[p\], in (0, 1).
    #[must_use]
    pub fn mean(&self) -> f64 {
        midpoints()
            .zip(&self.weights)
            .map(|(p, weight)| p * weight)
            .sum()
    }

    /// E\[p (1 - p)\], in \[0, 1/4\]: the expected variance of a correct verdict, to which a
    /// centred policy gradient is proportional.
    #[must_use]
    pub fn spread(&self) -> f64 {
        midpoints()
            .zip(&self.weights)
            .map(|(p, weight)| p * (1.0 - p) * weight)
            .sum()
    }

    /// P(p < `bound`), in \[0, 1\]. Mass within a cell is spread evenly.
    #[must_use]
    pub fn below(&self, bound: f64) -> f64 {
        let cells = bound.clamp(0.0, 1.0) * CELLS_F;
        let inside = |cell: usize| (cells - super::as_f64(cell)).clamp(0.0, 1.0);
        self.weights
            .iter()
            .enumerate()
            .map(|(cell, weight)| weight * inside(cell))
            .sum::<f64>()
            .min(1.0)
    }

    /// The `u`-quantile of p, in \[0, 1\], with `u` clamped to \[0, 1\]. It is a random draw if `u`
    /// is uniform.
    #[must_use]
    pub fn quantile(&self, u: f64) -> f64 {
        let mut left = u.clamp(0.0, 1.0);
        for (cell, weight) in self.weights.iter().enumerate() {
            if left <= *weight && *weight > 0.0 {
                return (super::as_f64(cell) + left / weight) / CELLS_F;
            }
            left -= weight;
        }
        1.0
    }

    /// The numbers contained in a reply.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let (hopeless, solved) = (self.below(EDGE), (1.0 - self.below(1.0 - EDGE)).max(0.0));
        Summary {
            hopeless,
            solved,
            informative: (1.0 - hopeless - solved).clamp(0.0, 1.0),
            mean: self.mean(),
            spread: self.spread(),
        }
    }
}

/// Summary of a posterior. All values are in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// P(p < 0.05).
    pub hopeless: f64,
    /// P(p > 0.95).
    pub solved: f64,
    /// P(0.05 <= p <= 0.95). With noisy verdicts, filter prompts on this instead of on equal
    /// rewards.
    pub informative: f64,
    /// E\[p\].
    pub mean: f64,
    /// E\[p (1 - p)\].
    pub spread: f64,
}

/// Probability that noise alone makes the verdicts of a group differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mixed {
    /// P(verdicts differ | all right) = 1 - (1 - rho1)^n - rho1^n.
    pub solved: f64,
    /// P(verdicts differ | all wrong) = 1 - (1 - rho0)^n - rho0^n.
    pub unsolved: f64,
}

/// Probabilities, in \[0, 1\], that the verdicts of a group of `n` differ although all members are
/// right, or all are wrong (own derivation). Both are 0 for a clean verifier and for n < 2.
#[must_use]
pub fn mixed_by_noise(rates: Rates, n: u32) -> Mixed {
    let differ = |rate: f64| {
        let n = f64::from(n.max(1));
        (1.0 - (1.0 - rate).powf(n) - rate.powf(n)).max(0.0)
    };
    Mixed {
        solved: differ(rates.rho1),
        unsolved: differ(rates.rho0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn posterior_without_verdicts_equals_the_prior() {
        let summary = Grid::new(Rates::CLEAN)
            .unwrap()
            .posterior(Prior::UNIFORM, 0.0, 0.0)
            .summary();
        // Uniform distribution: 0.05, 0.05, 0.9, 1/2 and 1/2 - 1/3 = 1/6, the last over 64
        // midpoints: sum((i+.5)/64*(1-(i+.5)/64) for i in range(64))/64 = 0.166687.
        assert!((summary.hopeless - 0.05).abs() < 1e-12 && (summary.solved - 0.05).abs() < 1e-12);
        assert!((summary.informative - 0.9).abs() < 1e-12 && (summary.mean - 0.5).abs() < 1e-12);
        assert!((summary.spread - 0.166_687).abs() < 1e-6);
    }

    #[test]
    fn posterior_of_clean_verdicts_approximates_beta() {
        // None of 8, uniform prior: Beta(1, 9). P(p < 0.05) = 1 - 0.95^9 = 0.369751, E[p] = 1/10,
        // E[p (1 - p)] = 9/110.
        let grid = Grid::new(Rates::CLEAN).unwrap();
        let summary = grid.posterior(Prior::UNIFORM, 0.0, 8.0).summary();
        assert!((summary.hopeless - 0.369_751).abs() < 2e-3);
        assert!((summary.mean - 0.1).abs() < 1e-3 && (summary.spread - 9.0 / 110.0).abs() < 1e-3);
        // 3 of 8 by Jeffreys: Beta(3.5, 5.5), E[p] = 3.5 / 9.
        let jeffreys = Prior {
            alpha: 0.5,
            beta: 0.5,
        };
        assert!((grid.posterior(jeffreys, 3.0, 5.0).mean() - 3.5 / 9.0).abs() < 1e-4);
    }

    #[test]
    fn posterior_of_many_verdicts_concentrates_on_the_pass_rate() {
        // 97 of 128 pass, and 97 / 128 is the midpoint of a cell.
        let summary = Grid::new(Rates::CLEAN)
            .unwrap()
            .posterior(Prior::UNIFORM, 97_000.0, 31_000.0)
            .summary();
        let p = 97.0 / 128.0;
        assert!((summary.mean - p).abs() < 1e-12, "{}", summary.mean);
        assert!((summary.spread - p * (1.0 - p)).abs() < 1e-12);
    }

    #[test]
    fn noise_moves_mass_of_a_mixed_group_towards_solved() {
        // P=[(i+.5)/64 for i in range(64)]; q=[.1+.7*p for p in P]; w=[a**7*(1-a) for a in q];
        // s=sum(w) sum(a*b for a,b in zip(P,w))/s; sum(a*(1-a)*b for a,b in zip(P,w))/s
        let summary = Grid::new(Rates::new(0.1, 0.2).unwrap())
            .unwrap()
            .posterior(Prior::UNIFORM, 7.0, 1.0)
            .summary();
        assert!((summary.mean - 0.841_689).abs() < 1e-6, "{}", summary.mean);
        assert!(
            (summary.spread - 0.116_291).abs() < 1e-6,
            "{}",
            summary.spread
        );
        let clean = Grid::new(Rates::CLEAN)
            .unwrap()
            .posterior(Prior::UNIFORM, 7.0, 1.0)
            .summary();
        assert!(
            summary.solved > clean.solved,
            "one failure of eight may be an error of the verifier"
        );
    }

    #[test]
    fn noise_mixes_the_verdicts_of_solved_groups() {
        // 1 - 0.8^8 - 0.2^8 = 0.832225; 1 - 0.9^8 - 0.1^8 = 0.569533.
        let mixed = mixed_by_noise(Rates::new(0.1, 0.2).unwrap(), 8);
        assert!(
            (mixed.solved - 0.832_225).abs() < 1e-6 && (mixed.unsolved - 0.569_533).abs() < 1e-6
        );
        let clean = mixed_by_noise(Rates::CLEAN, 8);
        assert!(clean.solved.abs() < 1e-15 && clean.unsolved.abs() < 1e-15);
        assert!(
            mixed_by_noise(Rates::new(0.1, 0.2).unwrap(), 0)
                .solved
                .abs()
                < 1e-15
        );
    }

    #[test]
    fn quantile_inverts_below() {
        let grid = Grid::new(Rates::CLEAN).unwrap();
        // Beta(4, 1) has the distribution p^4, so its quantile is the fourth root.
        let posterior = grid.posterior(Prior::UNIFORM, 3.0, 0.0);
        for u in [0.05, 0.3, 0.5, 0.9] {
            assert!(
                (posterior.quantile(u) - f64::powf(u, 0.25)).abs() < 3e-3,
                "{u}"
            );
            assert!((posterior.below(posterior.quantile(u)) - u).abs() < 1e-9);
        }
    }

    #[test]
    fn channel_without_information_has_no_grid() {
        assert_eq!(Grid::new(Rates::new(0.5, 0.5).unwrap()), None);
    }

    proptest! {
        #[test]
        fn every_posterior_is_a_distribution(
            rho0 in 0.0..0.5,
            rho1 in 0.0..0.49,
            passes in 0.0..5000.0f64,
            fails in 0.0..5000.0f64,
            alpha in 0.01..9.0f64,
            beta in 0.01..9.0f64,
            u in 0.0..1.0f64,
        ) {
            let grid = Grid::new(Rates::new(rho0, rho1).unwrap()).unwrap();
            let posterior = grid.posterior(Prior { alpha, beta }, passes, fails);
            let summary = posterior.summary();
            prop_assert!((posterior.below(1.0) - 1.0).abs() < 1e-9);
            let total = summary.hopeless + summary.informative + summary.solved;
            prop_assert!((total - 1.0).abs() < 1e-9);
            prop_assert!((0.0..=0.25).contains(&summary.spread));
            prop_assert!((0.0..=1.0).contains(&summary.mean));
            prop_assert!((0.0..=1.0).contains(&posterior.quantile(u)));
        }
    }
}
