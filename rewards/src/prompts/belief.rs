//! Belief about the share of right answers to a prompt, discounted from visit to visit, and its
//! distance from a goal (MoPPS).

use crate::Visit;
use serde::Serialize;

use crate::group::{Grid, Posterior, Prior};

/// Beta prior and discounted verdicts of one prompt (MoPPS, arXiv 2507.04632).
///
/// At each visit alpha' = d alpha + (1 - d) alpha0 + passes, and beta likewise with fails. So alpha
/// is alpha0 plus the passes of all visits, each multiplied by d for every later visit. Visits are
/// discounted by their order, not by their step, because nothing is learnt about a prompt between
/// its visits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Belief {
    /// alpha0 plus discounted passes, above 0.
    pub alpha: f64,
    /// beta0 plus discounted fails, above 0.
    pub beta: f64,
    #[serde(skip)]
    prior: Prior,
}

impl Belief {
    /// The belief before any visit.
    #[must_use]
    pub fn new(prior: Prior) -> Self {
        Self {
            alpha: prior.alpha,
            beta: prior.beta,
            prior,
        }
    }

    /// The belief after these visits, oldest first. `discount` d is from 0 (only the last visit
    /// counts) to 1 (all visits count equally). Visits without a verdict are skipped.
    #[must_use]
    pub fn after(prior: Prior, discount: f64, visits: &[Visit]) -> Self {
        let judged = visits.iter().filter(|visit| visit.judged > 0);
        judged.fold(Self::new(prior), |belief, visit| {
            belief.update(discount, visit)
        })
    }

    fn update(self, d: f64, visit: &Visit) -> Self {
        let Prior { alpha, beta } = self.prior;
        let passes = f64::from(visit.passes.min(visit.judged));
        Self {
            alpha: d * self.alpha + (1.0 - d) * alpha + passes,
            beta: d * self.beta + (1.0 - d) * beta + f64::from(visit.judged) - passes,
            prior: self.prior,
        }
    }

    /// Posterior of the share of right answers, given the noisy verdicts of a channel
    /// ([`Grid::posterior`]).
    #[must_use]
    pub fn posterior(&self, grid: &Grid) -> Posterior {
        grid.posterior(
            self.prior,
            self.alpha - self.prior.alpha,
            self.beta - self.prior.beta,
        )
    }

    /// Mean share of right answers, in (0, 1): alpha / (alpha + beta) for a clean verifier, else
    /// the mean of [`Belief::posterior`].
    #[must_use]
    pub fn mean(&self, grid: &Grid) -> f64 {
        if grid.is_clean() {
            self.alpha / (self.alpha + self.beta)
        } else {
            self.posterior(grid).mean()
        }
    }

    /// Thompson sample of the share of right answers, in \[0, 1\]: the `u`-quantile of the
    /// posterior, where `u` is uniform in \[0, 1).
    #[must_use]
    pub fn draw(&self, grid: &Grid, u: f64) -> f64 {
        self.posterior(grid).quantile(u)
    }
}

/// Desired share of right answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// As near as possible to this share; the variance of verdicts is greatest at 1/2.
    Target(f64),
    /// Any share between the two.
    Band(f64, f64),
}

impl Goal {
    /// 1 - (distance / greatest possible distance)^2, in \[0, 1\]: 1 where the goal is met, 0 at
    /// the end of \[0, 1\] that is farthest from it (own scaling). MoPPS (arXiv 2507.04632) selects
    /// the prompts of least squared distance, which is the same order.
    #[must_use]
    pub fn value(self, p: f64) -> f64 {
        let (low, high) = match self {
            Self::Target(target) => (target, target),
            Self::Band(low, high) => (low, high),
        };
        let distance = (low - p).max(p - high).max(0.0);
        let greatest = low.max(1.0 - high);
        if greatest > 0.0 {
            (1.0 - (distance / greatest).powi(2)).clamp(0.0, 1.0)
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Rates;

    fn visit(judged: u32, passes: u32) -> Visit {
        Visit {
            judged,
            passes,
            ..Visit::default()
        }
    }

    fn clean() -> Grid {
        Grid::new(Rates::CLEAN).unwrap()
    }

    #[test]
    fn discounts_earlier_visits() {
        // 8 of 8, then 2 of 8, d = 1/2: alpha 0.5 * (1 + 8) + 0.5 + 2 = 7; beta 0.5 * 1 + 0.5 + 6 =
        // 7.
        let belief = Belief::after(
            Prior::UNIFORM,
            0.5,
            &[visit(8, 8), visit(0, 0), visit(8, 2)],
        );
        assert!((belief.alpha - 7.0).abs() < 1e-12 && (belief.beta - 7.0).abs() < 1e-12);
        assert!((belief.mean(&clean()) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn belief_without_visits_equals_the_prior() {
        let belief = Belief::after(
            Prior {
                alpha: 1.0,
                beta: 3.0,
            },
            0.5,
            &[],
        );
        assert!((belief.mean(&clean()) - 0.25).abs() < 1e-12);
        // Beta(1, 3): 1 - (1 - p)^3 = 1/2 at p = 1 - 0.5^(1/3) = 0.206299.
        assert!((belief.draw(&clean(), 0.5) - 0.206_299).abs() < 1e-3);
    }

    #[test]
    fn mean_accounts_for_noise() {
        // With rates (0.3, 0), 3 of 10 passes are expected from wrong answers alone, so the mean is
        // less than the 4/12 of clean verdicts.
        // P=[(i+.5)/64 for i in range(64)]; q=[.3+.7*p for p in P]; w=[a**3*(1-a)**7 for a in q]
        // sum(a*b for a,b in zip(P,w))/sum(w)
        let belief = Belief::after(Prior::UNIFORM, 1.0, &[visit(10, 3)]);
        let noisy = belief.mean(&Grid::new(Rates::new(0.3, 0.0).unwrap()).unwrap());
        assert!((noisy - 0.176_487).abs() < 1e-6, "{noisy}");
        assert!((belief.mean(&clean()) - 4.0 / 12.0).abs() < 1e-12);
    }

    #[test]
    fn goal_value_falls_with_the_squared_distance() {
        // 1 - (0.25 / 0.5)^2.
        assert!((Goal::Target(0.5).value(0.75) - 0.75).abs() < 1e-12);
        assert!((Goal::Band(0.2, 0.6).value(0.4) - 1.0).abs() < 1e-12);
        // 1 - (0.2 / 0.4)^2.
        assert!((Goal::Band(0.2, 0.6).value(0.8) - 0.75).abs() < 1e-12);
        assert!(Goal::Band(0.2, 0.6).value(1.0).abs() < 1e-12);
        assert!((Goal::Band(0.0, 1.0).value(0.0) - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn more_passes_never_lower_the_belief(
            visits in prop::collection::vec((1u32..20, 0u32..20), 1..6),
            rho0 in 0.0..0.45,
            rho1 in 0.0..0.45,
            d in 0.0..1.0,
        ) {
            let grid = Grid::new(Rates { rho0, rho1 }).unwrap();
            let mean = |more: u32| {
                let visits = visits.iter().map(|(n, k)| visit(*n, (k + more).min(*n)));
                let visits: Vec<_> = visits.collect();
                Belief::after(Prior::UNIFORM, d, &visits).mean(&grid)
            };
            prop_assert!(mean(1) >= mean(0) - 1e-9);
        }
    }
}
