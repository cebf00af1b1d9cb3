//! Division of a budget of rollouts among given prompts so that the sum of their values is maximal
//! (Knapsack RL, arXiv 2509.25849).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Rates;

/// A prompt that takes part in the allocation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Share of right answers, in \[0, 1\].
    pub p: f64,
    /// Rates of the channel of its verdicts; [`Rates::CLEAN`] if unknown.
    pub rates: Rates,
    /// Minimum number of rollouts, at least 1.
    pub least: u32,
    /// Maximum number of rollouts.
    pub most: u32,
}

/// Value of `n` rollouts: J^2 (1 - q^n - (1 - q)^n) p (1 - p)^2, in \[0, 4/27\].
///
/// For a clean verifier it is (1 - p^n - (1 - p)^n) p (1 - p)^2, the probability of a group with
/// both verdicts times the improvement of p from such a group (Knapsack RL, arXiv 2509.25849). With
/// a noisy verifier, verdicts differ by the pass rate q = rho0 + J p, and the improvement is scaled
/// by J^2 (own extension). 0 for fewer than two rollouts.
#[must_use]
pub fn value(n: u32, p: f64, rates: Rates) -> f64 {
    let (p, q) = (p.clamp(0.0, 1.0), rates.q(p.clamp(0.0, 1.0)));
    let mixed = if n == 0 {
        0.0
    } else {
        1.0 - q.powf(f64::from(n)) - (1.0 - q).powf(f64::from(n))
    };
    rates.j().powi(2) * mixed.max(0.0) * p * (1.0 - p).powi(2)
}

/// The difference of [`value`] between n + 1 and n rollouts, n at least 1: J^2 (q^n (1 - q) + (1 -
/// q)^n q) p (1 - p)^2 (own derivation). It decreases with n, so the greedy allocation is optimal.
#[must_use]
pub fn gain(n: u32, p: f64, rates: Rates) -> f64 {
    let (p, q) = (p.clamp(0.0, 1.0), rates.q(p.clamp(0.0, 1.0)));
    let n = f64::from(n);
    rates.j().powi(2) * (q.powf(n) * (1.0 - q) + (1.0 - q).powf(n) * q) * p * (1.0 - p).powi(2)
}

/// Heap entry for the next rollout of a prompt, ordered by greatest gain, then fewest rollouts,
/// then index.
#[derive(PartialEq)]
struct NextRollout {
    gain: f64,
    rollouts: u32,
    at: usize,
}

impl Eq for NextRollout {}

impl Ord for NextRollout {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_gain = self.gain.total_cmp(&other.gain);
        by_gain
            .then(other.rollouts.cmp(&self.rollouts))
            .then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for NextRollout {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The allocation of rollouts with the greatest total [`value`]. Its sum is `budget`, or less if
/// all prompts reach their maximum. Prompts without value share the remainder evenly.
///
/// `None` if the budget is below the sum of the minimums, if a minimum is 0 or above its maximum,
/// or if a p is outside \[0, 1\].
#[must_use]
pub fn allocate(demands: &[Demand], budget: u64) -> Option<Vec<u32>> {
    let fits = |demand: &Demand| {
        demand.least >= 1 && demand.least <= demand.most && (0.0..=1.0).contains(&demand.p)
    };
    if !demands.iter().all(fits) {
        return None;
    }
    let mut left =
        budget.checked_sub(demands.iter().map(|demand| u64::from(demand.least)).sum())?;
    let mut rollouts: Vec<u32> = demands.iter().map(|demand| demand.least).collect();
    let next_rollout = |at: usize, rollouts: u32| {
        let demand = demands.get(at)?;
        (rollouts < demand.most).then(|| NextRollout {
            gain: gain(rollouts, demand.p, demand.rates),
            rollouts,
            at,
        })
    };
    let mut heap: BinaryHeap<NextRollout> = (0..demands.len())
        .filter_map(|at| next_rollout(at, *rollouts.get(at)?))
        .collect();
    while left > 0
        && let Some(next) = heap.pop()
    {
        let allocated = next.rollouts + 1;
        if let Some(rollouts) = rollouts.get_mut(next.at) {
            *rollouts = allocated;
        }
        left -= 1;
        heap.extend(next_rollout(next.at, allocated));
    }
    Some(rollouts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn demand(p: f64) -> Demand {
        Demand {
            p,
            rates: Rates::CLEAN,
            least: 1,
            most: 8,
        }
    }

    #[test]
    fn value_matches_the_formula() {
        // p = 1/4, n = 3: (1 - 1/64 - 27/64) * 1/4 * 9/16 = 0.5625 * 0.140625 = 0.079102.
        assert!((value(3, 0.25, Rates::CLEAN) - 0.079_102).abs() < 1e-6);
        // (0.1, 0.2): q = 0.1 + 0.7 / 4 = 0.275; 0.49 * (1 - 0.020797 - 0.381078) * 0.140625 =
        // 0.041215.
        assert!((value(3, 0.25, Rates::new(0.1, 0.2).unwrap()) - 0.041_215).abs() < 1e-6);
        assert!(
            value(0, 0.25, Rates::CLEAN).abs() < 1e-15
                && value(1, 0.25, Rates::CLEAN).abs() < 1e-15
        );
    }

    #[test]
    fn allocates_more_to_prompts_of_greater_value() {
        let rollouts = allocate(&[demand(0.02), demand(0.4), demand(1.0)], 12).unwrap();
        assert_eq!(rollouts.iter().sum::<u32>(), 12);
        assert!(rollouts[1] > rollouts[2], "{rollouts:?}");
    }

    #[test]
    fn prompts_without_value_share_evenly() {
        assert_eq!(
            allocate(&[demand(0.0), demand(1.0), demand(0.0)], 7),
            Some(vec![3, 2, 2])
        );
    }

    #[test]
    fn respects_bounds_and_rejects_invalid_demands() {
        assert_eq!(
            allocate(&[demand(0.5), demand(0.5)], 1000),
            Some(vec![8, 8])
        );
        assert_eq!(allocate(&[demand(0.5), demand(0.5)], 1), None);
        assert_eq!(
            allocate(
                &[Demand {
                    least: 0,
                    ..demand(0.5)
                }],
                4
            ),
            None
        );
        assert_eq!(
            allocate(
                &[Demand {
                    p: f64::NAN,
                    ..demand(0.5)
                }],
                4
            ),
            None
        );
        assert_eq!(allocate(&[], 4), Some(vec![]));
    }

    /// Greatest total value of all allocations of the whole budget, by exhaustive search.
    fn best_value(demands: &[Demand], budget: u64) -> f64 {
        let Some((first, rest)) = demands.split_first() else {
            return if budget == 0 { 0.0 } else { f64::NEG_INFINITY };
        };
        (first.least..=first.most)
            .filter(|n| u64::from(*n) <= budget)
            .map(|n| value(n, first.p, first.rates) + best_value(rest, budget - u64::from(n)))
            .fold(f64::NEG_INFINITY, f64::max)
    }

    proptest! {
        #[test]
        fn greedy_allocation_is_optimal(
            shares in prop::collection::vec((0.0..1.0f64, 1u32..3), 1..5),
            budget in 0u64..20,
            rho0 in 0.0..0.4,
            rho1 in 0.0..0.4,
        ) {
            let rates = Rates { rho0, rho1 };
            let demands: Vec<_> = shares
                .iter()
                .map(|(p, least)| Demand { p: *p, rates, least: *least, most: 6 })
                .collect();
            let least: u64 = demands.iter().map(|demand| u64::from(demand.least)).sum();
            let most: u64 = demands.iter().map(|demand| u64::from(demand.most)).sum();
            let budget = (least + budget).min(most);
            let rollouts = allocate(&demands, budget).unwrap();
            prop_assert_eq!(rollouts.iter().map(|n| u64::from(*n)).sum::<u64>(), budget);
            let total: f64 = rollouts
                .iter()
                .zip(&demands)
                .map(|(n, demand)| value(*n, demand.p, demand.rates))
                .sum();
            prop_assert!((total - best_value(&demands, budget)).abs() < 1e-12);
        }

        #[test]
        fn gain_is_the_difference_of_values_and_decreases(
            p in 0.0..1.0f64,
            rho0 in 0.0..0.4,
            rho1 in 0.0..0.4,
            n in 1u32..40,
        ) {
            let rates = Rates { rho0, rho1 };
            let difference = value(n + 1, p, rates) - value(n, p, rates);
            prop_assert!((difference - gain(n, p, rates)).abs() < 1e-12);
            prop_assert!(gain(n + 1, p, rates) <= gain(n, p, rates) + 1e-15);
        }
    }
}
