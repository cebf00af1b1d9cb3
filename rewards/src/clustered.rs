//! Differences of two means or shares whose rollouts are correlated because they share prompts.
//!
//! Prompts are the clusters. With the count n and the sum s of each prompt in both sets, the totals
//! N and the means m, a prompt contributes to the difference of the means `u = (s_b - n_b m_b) /
//! N_b - (s_a - n_a m_a) / N_a`, the linearised residual of a ratio of sums. The variance of the
//! difference is `K / (K - 1)` times the sum of `u²` (Liang and Zeger 1986, doi
//! 10.1093/biomet/73.1.13; for evaluations Miller 2024, arXiv 2411.00640). A prompt that both sets
//! contain has one `u`, so that what makes it easy or hard in both cancels. K is the number of
//! prompts of the set that has fewer, and the interval uses the t distribution with K - 1 degrees
//! of freedom, which is wider than needed if the sets have different prompts.

use crate::interval::{Estimate, Interval, Z};

/// Count and sum of the rollouts of a prompt, or of all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// Number of rollouts.
    pub count: f64,
    /// Sum of their values.
    pub sum: f64,
}

impl Total {
    /// The mean; `None` without rollouts.
    #[must_use]
    pub fn mean(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// What a part of these rollouts contributes to the error of the mean.
    fn residual(self, part: Self) -> f64 {
        (part.sum - part.count * self.sum / self.count) / self.count
    }
}

/// What a prompt contributes to the difference of the means of two sets with these totals; both
/// have rollouts.
#[must_use]
pub fn residual([a, b]: [Total; 2], prompt: [Total; 2]) -> f64 {
    b.residual(prompt[1]) - a.residual(prompt[0])
}

/// An estimate with its 95 % interval, from the sum of squares of what its `clusters` contribute;
/// at least two clusters.
#[must_use]
pub fn estimate(value: f64, squares: f64, clusters: u64) -> Estimate {
    let half = quantile(clusters.saturating_sub(1)) * standard_error(squares, clusters);
    Estimate {
        value,
        interval: Interval {
            low: value - half,
            high: value + half,
        },
    }
}

/// The standard error, from the sum of squares of what the clusters contribute.
#[must_use]
pub fn standard_error(squares: f64, clusters: u64) -> f64 {
    let clusters = clusters.max(2) as f64;
    (squares.max(0.0) * clusters / (clusters - 1.0)).sqrt()
}

/// The 0.975 quantile of the t distribution with 1 to 9 degrees of freedom.
const FEW: [f64; 9] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
    2.262_157,
];

/// The 0.975 quantile of the t distribution; from 10 degrees of freedom on by the expansion around
/// the normal quantile (Abramowitz and Stegun 1964, 26.7.5), with an error below 2e-4.
fn quantile(degrees: u64) -> f64 {
    let few = usize::try_from(degrees.max(1) - 1).ok();
    if let Some(known) = few.and_then(|at| FEW.get(at)) {
        return *known;
    }
    let n = degrees as f64;
    let terms = [
        (Z.powi(3) + Z) / 4.0,
        (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0,
        (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0,
    ];
    let expansion = terms.iter().rev().fold(0.0, |sum, term| (sum + term) / n);
    Z + expansion
}

#[cfg(test)]
mod tests {
    use assay_base::Random;

    use super::*;

    #[test]
    fn quantiles_match_tables() {
        for (degrees, expected) in [
            (1, 12.706_205),
            (9, 2.262_157),
            (10, 2.228_139),
            (30, 2.042_272),
            (1_000, 1.962_339),
        ] {
            let quantile = quantile(degrees);
            assert!((quantile - expected).abs() < 2e-4, "{degrees}: {quantile}");
        }
    }

    /// Two simulated sets of rollouts of `prompts` prompts.
    struct Simulated {
        prompts: usize,
        /// Rollouts of a prompt in both sets.
        rollouts: [u32; 2],
        /// Standard deviation of the log-odds of prompts, in which rollouts of a prompt agree.
        spread: f64,
        /// Share of the prompts of the second set that the first one has, too.
        common: f64,
        /// Added to the log-odds of the second set.
        shift: f64,
    }

    impl Simulated {
        /// The passes of both sets by prompt.
        fn draw(&self, random: &mut Random) -> Vec<[Total; 2]> {
            let rate = |log_odds: f64| 1.0 / (1.0 + (-log_odds).exp());
            let mut prompts = Vec::new();
            for _ in 0..self.prompts {
                let easiness = self.spread * random.normal();
                let set = |at: usize, easiness: f64, random: &mut Random| {
                    // Prompts are visited once or twice.
                    let count = self.rollouts[at] * (1 + u32::from(random.bernoulli(0.5)));
                    let shift = if at == 1 { self.shift } else { 0.0 };
                    Total {
                        count: count.into(),
                        sum: random.count(count, rate(easiness + shift)).into(),
                    }
                };
                let a = set(0, easiness, random);
                if random.bernoulli(self.common) {
                    prompts.push([a, set(1, easiness, random)]);
                } else {
                    let other = self.spread * random.normal();
                    prompts.push([a, Total::default()]);
                    prompts.push([Total::default(), set(1, other, random)]);
                }
            }
            prompts
        }

        /// The difference of the expected shares, by numerical integration.
        fn truth(&self) -> f64 {
            let rate = |log_odds: f64| 1.0 / (1.0 + (-log_odds).exp());
            let mean = |shift: f64| {
                let points = (-4_000..=4_000).map(|at| f64::from(at) / 500.0);
                let terms = points.map(|z| {
                    let weight = (-z * z / 2.0).exp();
                    (weight, weight * rate(self.spread * z + shift))
                });
                let (weights, sum) = terms.fold((0.0, 0.0), |(weights, sum), (weight, value)| {
                    (weights + weight, sum + value)
                });
                sum / weights
            };
            mean(self.shift) - mean(0.0)
        }

        /// The share of intervals that contain the truth, and their mean width.
        fn coverage(&self) -> (f64, f64) {
            const RUNS: u32 = 4_000;
            let truth = self.truth();
            let mut random = Random::new(7);
            let (mut covered, mut width) = (0u32, 0.0);
            for _ in 0..RUNS {
                let prompts = self.draw(&mut random);
                let totals = [0, 1].map(|at| Total {
                    count: prompts.iter().map(|prompt| prompt[at].count).sum(),
                    sum: prompts.iter().map(|prompt| prompt[at].sum).sum(),
                });
                let squares = prompts
                    .iter()
                    .map(|prompt| residual(totals, *prompt).powi(2))
                    .sum();
                let value = totals[1].mean().unwrap() - totals[0].mean().unwrap();
                let estimate = estimate(value, squares, self.prompts as u64);
                covered += u32::from(estimate.interval.contains(truth));
                width += 2.0 * estimate.interval.half();
            }
            (
                f64::from(covered) / f64::from(RUNS),
                width / f64::from(RUNS),
            )
        }
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "the figures are part of the result")]
    fn intervals_cover_the_difference_on_correlated_and_uncorrelated_rollouts() {
        for prompts in [12, 60] {
            for spread in [0.0, 2.0] {
                for common in [1.0, 0.5, 0.0] {
                    for shift in [0.0, 0.6] {
                        let simulated = Simulated {
                            prompts,
                            rollouts: [8, 4],
                            spread,
                            common,
                            shift,
                        };
                        let (coverage, width) = simulated.coverage();
                        println!(
                            "{prompts} prompts, spread {spread}, common {common}, shift {shift}: \
                             coverage {coverage:.4}, width {width:.3}"
                        );
                        assert!((0.93..=0.97).contains(&coverage), "{coverage}");
                    }
                }
            }
        }
    }

    #[test]
    fn common_prompts_make_intervals_narrower() {
        let width = |common| {
            let simulated = Simulated {
                prompts: 60,
                rollouts: [8, 8],
                spread: 2.0,
                common,
                shift: 0.0,
            };
            simulated.coverage().1
        };
        assert!(width(1.0) < 0.6 * width(0.0));
    }
}
