//! Additional rollouts for hard prompts (DARS, arXiv 2508.13755). For division of a budget see
//! [`knapsack`](super::knapsack).

/// Total weight of a hard prompt with its additional rollouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Equal treatment: every prompt with an accuracy below 1/2 gets the total weight of a prompt
    /// at 1/2.
    EqualTreatment,
    /// Hardness weighted: 2 (1 - accuracy) times the weight of equal treatment.
    HardnessWeighted,
}

/// Additional rollouts of a prompt with `rollouts` N so far and accuracy a: ceil((w P - N S) / S)
/// (DARS, arXiv 2508.13755). S is the weight of a rollout, P is N S at a = 1/2, and w is 1 or
/// 2 (1 - a) by the schedule. An accuracy of 0 is replaced by 1 / 2N. The total is limited to
/// `most`.
///
/// 0 if `rollouts` is 0, and for an accuracy outside \[0, 1/2).
#[must_use]
pub fn extra(schedule: Schedule, rollouts: u32, accuracy: f64, most: u32) -> u32 {
    if rollouts == 0 || !(0.0..0.5).contains(&accuracy) {
        return 0;
    }
    let n = f64::from(rollouts);
    let a = if accuracy > 0.0 { accuracy } else { 0.5 / n };
    // Advantages of GRPO are divided by their standard deviation.
    let each = 2.0 * (a * (1.0 - a)).sqrt();
    let target = match schedule {
        Schedule::EqualTreatment => n,
        Schedule::HardnessWeighted => 2.0 * (1.0 - a) * n,
    };
    let extra = ((target - n * each) / each).ceil();
    let limit = most.saturating_sub(rollouts);
    if extra >= f64::from(limit) {
        limit
    } else {
        truncate(extra)
    }
}

/// The integer part of a number below 2^32; 0 for negative numbers.
fn truncate(number: f64) -> u32 {
    // The caller limits it to a u32.
    number.max(0.0) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Schedule::{EqualTreatment, HardnessWeighted};

    #[test]
    fn extra_rollouts_match_the_formula() {
        // a = 1/8, N = 8: S = 2 sqrt(7/64) = 0.661438; 8 / S - 8 = 4.095 -> 5; times 2 * 7/8: 14 /
        // S - 8 = 13.166 -> 14.
        assert_eq!(extra(EqualTreatment, 8, 0.125, 64), 5);
        assert_eq!(extra(HardnessWeighted, 8, 0.125, 64), 14);
    }

    #[test]
    fn an_accuracy_of_zero_counts_as_half_a_success() {
        // a = 1/16: S = 2 sqrt(15) / 16 = 0.484123; 8 / S - 8 = 8.525 -> 9.
        assert_eq!(extra(EqualTreatment, 8, 0.0, 64), 9);
    }

    #[test]
    fn extra_rollouts_are_zero_for_easy_prompts_and_limited_to_the_maximum() {
        assert_eq!(extra(EqualTreatment, 8, 0.5, 64), 0);
        assert_eq!(extra(HardnessWeighted, 8, 1.0, 64), 0);
        assert_eq!(extra(HardnessWeighted, 8, 0.0, 12), 4);
        assert_eq!(extra(HardnessWeighted, 8, 0.0, 4), 0);
        assert_eq!(extra(EqualTreatment, 0, 0.1, 64), 0);
        assert_eq!(extra(EqualTreatment, 8, f64::NAN, 64), 0);
    }

    proptest! {
        #[test]
        fn harder_prompts_never_get_less(n in 1u32..64, a in 0.01..0.5f64, b in 0.01..0.5f64) {
            for schedule in [EqualTreatment, HardnessWeighted] {
                let [hard, easy] =
                    [a.min(b), a.max(b)].map(|a| extra(schedule, n, a, u32::MAX));
                prop_assert!(hard >= easy);
            }
        }
    }
}
