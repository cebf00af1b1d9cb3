//! Divides a budget of rollouts among prompts so that the sum of their values is greatest (Knapsack
//! RL, arXiv 2509.25849). Which prompts take part was decided before.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Rates;

/// A prompt that wants rollouts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Need {
    /// Its share of right answers, in \[0, 1\].
    pub p: f64,
    /// Rates of the channel its verdicts come through; [`Rates::CLEAN`] when unknown.
    pub rates: Rates,
    /// Rollouts it gets in any case, at least 1.
    pub least: u32,
    /// Rollouts it gets at most.
    pub most: u32,
}

/// Value of `n` rollouts: (1 - p^n - (1 - p)^n) p (1 - p)^2, the chance of a group with both
/// verdicts times how much such a group improves p. Behind a noisy verifier the verdicts differ by
/// q, and what they teach shrinks with J: J^2 (1 - q^n - (1 - q)^n) p (1 - p)^2 (own extension; the
/// clean form is the paper's). 0 for fewer than two rollouts.
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

/// What rollout n + 1 adds to [`value`], n at least 1: J^2 (q^n (1 - q) + (1 - q)^n q) p (1 - p)^2.
/// It falls with n, so that taking the greatest gain first is exact.
#[must_use]
pub fn gain(n: u32, p: f64, rates: Rates) -> f64 {
    let (p, q) = (p.clamp(0.0, 1.0), rates.q(p.clamp(0.0, 1.0)));
    let n = f64::from(n);
    rates.j().powi(2) * (q.powf(n) * (1.0 - q) + (1.0 - q).powf(n) * q) * p * (1.0 - p).powi(2)
}

/// A prompt that waits for its next rollout; greatest gain first, then fewest rollouts, then first
/// in order.
#[derive(PartialEq)]
struct Waiting {
    gain: f64,
    rollouts: u32,
    at: usize,
}

impl Eq for Waiting {}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_gain = self.gain.total_cmp(&other.gain);
        by_gain
            .then(other.rollouts.cmp(&self.rollouts))
            .then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Rollouts of each prompt, together `budget` unless all have their most before: the allocation of
/// greatest total [`value`]. Prompts without value share what is left evenly.
///
/// `None` where the budget does not hold the least of all, a least is 0 or above its most, or a p
/// is no share.
#[must_use]
pub fn allocate(needs: &[Need], budget: u64) -> Option<Vec<u32>> {
    let fits =
        |need: &Need| need.least >= 1 && need.least <= need.most && (0.0..=1.0).contains(&need.p);
    if !needs.iter().all(fits) {
        return None;
    }
    let mut left = budget.checked_sub(needs.iter().map(|need| u64::from(need.least)).sum())?;
    let mut rollouts: Vec<u32> = needs.iter().map(|need| need.least).collect();
    let waiting = |at: usize, rollouts: u32| {
        let need = needs.get(at)?;
        (rollouts < need.most).then(|| Waiting {
            gain: gain(rollouts, need.p, need.rates),
            rollouts,
            at,
        })
    };
    let mut heap: BinaryHeap<Waiting> = (0..needs.len())
        .filter_map(|at| waiting(at, *rollouts.get(at)?))
        .collect();
    while left > 0
        && let Some(next) = heap.pop()
    {
        let given = next.rollouts + 1;
        if let Some(place) = rollouts.get_mut(next.at) {
            *place = given;
        }
        left -= 1;
        heap.extend(waiting(next.at, given));
    }
    Some(rollouts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn need(p: f64) -> Need {
        Need {
            p,
            rates: Rates::CLEAN,
            least: 1,
            most: 8,
        }
    }

    #[test]
    fn value_is_the_chance_of_a_mixed_group_times_what_it_improves() {
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
    fn a_budget_goes_where_it_teaches() {
        let rollouts = allocate(&[need(0.02), need(0.4), need(1.0)], 12).unwrap();
        assert_eq!(rollouts.iter().sum::<u32>(), 12);
        assert!(rollouts[1] > rollouts[2], "{rollouts:?}");
    }

    #[test]
    fn worthless_prompts_share_evenly() {
        assert_eq!(
            allocate(&[need(0.0), need(1.0), need(0.0)], 7),
            Some(vec![3, 2, 2])
        );
    }

    #[test]
    fn bounds_hold() {
        assert_eq!(allocate(&[need(0.5), need(0.5)], 1000), Some(vec![8, 8]));
        assert_eq!(allocate(&[need(0.5), need(0.5)], 1), None);
        assert_eq!(
            allocate(
                &[Need {
                    least: 0,
                    ..need(0.5)
                }],
                4
            ),
            None
        );
        assert_eq!(
            allocate(
                &[Need {
                    p: f64::NAN,
                    ..need(0.5)
                }],
                4
            ),
            None
        );
        assert_eq!(allocate(&[], 4), Some(vec![]));
    }

    /// Greatest total value over every allocation of the whole budget.
    fn best(needs: &[Need], budget: u64) -> f64 {
        let Some((first, rest)) = needs.split_first() else {
            return if budget == 0 { 0.0 } else { f64::NEG_INFINITY };
        };
        (first.least..=first.most)
            .filter(|n| u64::from(*n) <= budget)
            .map(|n| value(n, first.p, first.rates) + best(rest, budget - u64::from(n)))
            .fold(f64::NEG_INFINITY, f64::max)
    }

    proptest! {
        #[test]
        fn greedy_is_as_good_as_trying_everything(
            shares in prop::collection::vec((0.0..1.0f64, 1u32..3), 1..5), budget in 0u64..20, rho0 in 0.0..0.4, rho1 in 0.0..0.4,
        ) {
            let rates = Rates { rho0, rho1 };
            let needs: Vec<_> = shares.iter().map(|(p, least)| Need { p: *p, rates, least: *least, most: 6 }).collect();
            let (floor, roof) = needs.iter().fold((0, 0), |(a, b), need| (a + u64::from(need.least), b + u64::from(need.most)));
            let budget = (floor + budget).min(roof);
            let rollouts = allocate(&needs, budget).unwrap();
            prop_assert_eq!(rollouts.iter().map(|n| u64::from(*n)).sum::<u64>(), budget);
            let total: f64 = rollouts.iter().zip(&needs).map(|(n, need)| value(*n, need.p, need.rates)).sum();
            prop_assert!((total - best(&needs, budget)).abs() < 1e-12);
        }

        #[test]
        fn gains_are_the_differences_of_values_and_fall(p in 0.0..1.0f64, rho0 in 0.0..0.4, rho1 in 0.0..0.4, n in 1u32..40) {
            let rates = Rates { rho0, rho1 };
            prop_assert!((value(n + 1, p, rates) - value(n, p, rates) - gain(n, p, rates)).abs() < 1e-12);
            prop_assert!(gain(n + 1, p, rates) <= gain(n, p, rates) + 1e-15);
        }
    }
}
