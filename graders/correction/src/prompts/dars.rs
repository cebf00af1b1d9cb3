//! How many more rollouts a hard prompt should get beside those it had (DARS, arXiv 2508.13755).
//! Divides no budget; that is [`knapsack`](super::knapsack).

/// What the extra rollouts bring a hard prompt up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Equal treatment: every prompt below one half gets the total weight of one at one half.
    EqualTreatment,
    /// Hardness weighted: 2 (1 - accuracy) times that, so the harder the more.
    HardnessWeighted,
}

/// How the trainer scales advantages, which decides how much weight the rollouts of a group carry
/// together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Divided by the deviation (GRPO): S = 2 sqrt(a (1 - a)) for each rollout, at most 1.
    Deviation,
    /// Centred only (Dr. GRPO): S = 2 a (1 - a) for each rollout, at most 1/2.
    Centred,
}

/// Extra rollouts of a prompt with `rollouts` N so far and accuracy a: ceil((w P - N S) / S), P the
/// weight N S has at a = 1/2 and w 1 or 2 (1 - a) by the schedule; an accuracy of 0 counts as 1 /
/// 2N. At most what brings the total to `most`.
///
/// 0 for an accuracy of one half or more, without rollouts, and for an accuracy that is no share.
#[must_use]
pub fn extra(schedule: Schedule, scale: Scale, rollouts: u32, accuracy: f64, most: u32) -> u32 {
    if rollouts == 0 || !(0.0..0.5).contains(&accuracy) {
        return 0;
    }
    let n = f64::from(rollouts);
    let a = if accuracy > 0.0 { accuracy } else { 0.5 / n };
    let (each, peak) = match scale {
        Scale::Deviation => (2.0 * (a * (1.0 - a)).sqrt(), n),
        Scale::Centred => (2.0 * a * (1.0 - a), n / 2.0),
    };
    let aim = match schedule {
        Schedule::EqualTreatment => peak,
        Schedule::HardnessWeighted => 2.0 * (1.0 - a) * peak,
    };
    let wanted = ((aim - n * each) / each).ceil();
    let room = most.saturating_sub(rollouts);
    // Counting up to the number keeps the conversion exact and within the room.
    if wanted >= f64::from(room) {
        room
    } else {
        whole(wanted)
    }
}

/// A number from 0 up, below 2^32, without its fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the caller holds it below a u32"
)]
fn whole(number: f64) -> u32 {
    number.max(0.0) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Scale::{Centred, Deviation};
    use Schedule::{EqualTreatment, HardnessWeighted};

    #[test]
    fn hard_prompts_get_what_an_even_one_weighs() {
        // a = 1/8, N = 8: S = 2 sqrt(7/64) = 0.661438; 8 / S - 8 = 4.095 -> 5; times 2 * 7/8: 14 /
        // S - 8 = 13.166 -> 14.
        assert_eq!(extra(EqualTreatment, Deviation, 8, 0.125, 64), 5);
        assert_eq!(extra(HardnessWeighted, Deviation, 8, 0.125, 64), 14);
        // S = 2 * 7/64 = 0.21875; 4 / S - 8 = 10.286 -> 11; 7 / S - 8 = 24.
        assert_eq!(extra(EqualTreatment, Centred, 8, 0.125, 64), 11);
        assert_eq!(extra(HardnessWeighted, Centred, 8, 0.125, 64), 24);
    }

    #[test]
    fn a_prompt_nobody_solved_counts_as_half_a_success() {
        // a = 1/16: S = 2 sqrt(15) / 16 = 0.484123; 8 / S - 8 = 8.525 -> 9.
        assert_eq!(extra(EqualTreatment, Deviation, 8, 0.0, 64), 9);
    }

    #[test]
    fn easy_prompts_get_nothing_and_nobody_more_than_the_most() {
        assert_eq!(extra(EqualTreatment, Deviation, 8, 0.5, 64), 0);
        assert_eq!(extra(HardnessWeighted, Centred, 8, 1.0, 64), 0);
        assert_eq!(extra(HardnessWeighted, Centred, 8, 0.0, 12), 4);
        assert_eq!(extra(HardnessWeighted, Centred, 8, 0.0, 4), 0);
        assert_eq!(extra(EqualTreatment, Deviation, 0, 0.1, 64), 0);
        assert_eq!(extra(EqualTreatment, Deviation, 8, f64::NAN, 64), 0);
    }

    proptest! {
        #[test]
        fn harder_prompts_never_get_less(n in 1u32..64, a in 0.01..0.5f64, b in 0.01..0.5f64) {
            for (schedule, scale) in [(EqualTreatment, Deviation), (HardnessWeighted, Centred)] {
                let [hard, easy] = [a.min(b), a.max(b)].map(|a| extra(schedule, scale, n, a, u32::MAX));
                prop_assert!(hard >= easy);
            }
        }
    }
}
