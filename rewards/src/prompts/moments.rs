//! Mean and standard deviation of the rewards of all visits to a prompt. Visits are not discounted;
//! for discounted counts see [`Belief`](super::Belief).

use crate::Visit;

/// Count, mean and sum of squared distances from the mean (Welford).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    /// Number of rewards.
    pub n: f64,
    /// Mean of the rewards; 0 without rewards.
    pub mean: f64,
    /// Sum of squared distances from the mean, at least 0.
    pub m2: f64,
}

impl Moments {
    /// Moments of one visit from its sums: M2 = sum r^2 - (sum r)^2 / n. Results below 0 from
    /// rounding are set to 0. M2 is infinite if the sums have saturated, because they then have no
    /// deviation.
    #[must_use]
    pub fn of(visit: &Visit) -> Self {
        if visit.rewards == 0 {
            return Self::default();
        }
        let n = f64::from(visit.rewards);
        let mean = visit.reward_sum / n;
        let m2 = visit.reward_squares - visit.reward_sum * mean;
        Self {
            n,
            mean,
            m2: if m2.is_finite() && visit.reward_squares < f64::MAX {
                m2.max(0.0)
            } else {
                f64::INFINITY
            },
        }
    }

    /// Moments of several visits.
    #[must_use]
    pub fn over(visits: &[Visit]) -> Self {
        visits
            .iter()
            .fold(Self::default(), |all, visit| all.merge(Self::of(visit)))
    }

    /// Moments of the union: n = a + b, mean = `mean_a` + d b / n, M2 = `M2_a` + `M2_b` + d^2 a b /
    /// n with d = `mean_b` - `mean_a` (Chan, Golub and LeVeque 1983).
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let n = self.n + other.n;
        if n <= 0.0 {
            return Self::default();
        }
        let d = other.mean - self.mean;
        Self {
            n,
            mean: self.mean + d * other.n / n,
            m2: self.m2 + other.m2 + d * d * self.n * other.n / n,
        }
    }

    /// Moments with one more reward.
    #[must_use]
    pub fn push(self, reward: f64) -> Self {
        self.merge(Self {
            n: 1.0,
            mean: reward,
            m2: 0.0,
        })
    }

    /// Unbiased standard deviation sqrt(M2 / (n - 1)); `None` with fewer than two rewards, and if
    /// it is not finite.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        (self.n > 1.0)
            .then(|| (self.m2 / (self.n - 1.0)).sqrt())
            .filter(|deviation| deviation.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn visit(rewards: &[f64]) -> Visit {
        Visit {
            rewards: u32::try_from(rewards.len()).unwrap(),
            reward_sum: rewards.iter().sum(),
            reward_squares: rewards.iter().map(|reward| reward * reward).sum(),
            ..Visit::default()
        }
    }

    #[test]
    fn moments_over_visits_match_those_of_all_rewards() {
        // statistics.mean([1, 0, 0, 1, 1, 0.5]) = 0.583333, statistics.stdev(...) = 0.491596.
        let all = Moments::over(&[visit(&[1.0, 0.0, 0.0]), visit(&[]), visit(&[1.0, 1.0, 0.5])]);
        assert!((all.mean - 0.583_333).abs() < 1e-6);
        assert!((all.deviation().unwrap() - 0.491_596).abs() < 1e-6);
    }

    #[test]
    fn deviation_needs_two_rewards_and_finite_sums() {
        assert_eq!(Moments::over(&[visit(&[3.0])]).deviation(), None);
        assert_eq!(Moments::over(&[]), Moments::default());
        assert_eq!(
            Moments::over(&[visit(&[1e200, -1e200])]).deviation(),
            None,
            "the squares overflow"
        );
        assert_eq!(
            Moments::over(&[visit(&[f64::MAX, f64::MAX]), visit(&[0.0])]).deviation(),
            None,
            "the sum overflows"
        );
    }

    proptest! {
        #[test]
        fn merging_equals_pushing_one_by_one(
            a in prop::collection::vec(-9.0..9.0f64, 0..9),
            b in prop::collection::vec(-9.0..9.0f64, 0..9),
        ) {
            let merged = Moments::over(&[visit(&a), visit(&b)]);
            let pushed =
                a.iter().chain(&b).fold(Moments::default(), |all, reward| all.push(*reward));
            prop_assert!((merged.n - pushed.n).abs() < 1e-12);
            prop_assert!((merged.mean - pushed.mean).abs() < 1e-9);
            prop_assert!((merged.m2 - pushed.m2).abs() < 1e-9);
        }
    }
}
