//! Advantages of a single group corrected by the rates of its channel. The caller decides whether
//! rates are certain enough to be used.
//!
//! Within one group each is an increasing linear function of the raw reward. The correction is in
//! the slopes, which differ between channels, and in the offsets, which matter to trainers that do
//! not centre.

use super::advantage::{each, each_verdict, mean_of_several};
use super::member::Member;
use crate::Rates;

/// Minimum J that [`gain`] divides by. It bounds the variance; a channel with a smaller J gets less
/// than its full weight.
pub const MIN_J: f64 = 0.2;

/// Backward-corrected verdicts (pass - rho0) / J, in \[-rho0 / J, (1 - rho0) / J\]
/// ([`Rates::backward`], arXiv 2510.00915). `None` for all members without rates or unless J > 0.
#[must_use]
pub fn backward(members: &[Member<'_>], rates: Option<Rates>) -> Vec<Option<f64>> {
    each_verdict(members, |pass| rates?.backward(pass))
}

/// Forward weights, rho1 for a pass, else rho1 - 1, in \[-1, 1\] ([`Rates::forward`], arXiv
/// 2510.00915). `None` for all members without rates or unless J > 0; with J <= 0 they would carry
/// no information, or the opposite.
#[must_use]
pub fn forward(members: &[Member<'_>], rates: Option<Rates>) -> Vec<Option<f64>> {
    let rates = usable(rates);
    each_verdict(members, |pass| Some(rates?.forward(pass)))
}

fn usable(rates: Option<Rates>) -> Option<Rates> {
    rates.filter(|rates| rates.j() > 0.0)
}

/// (r - mean) / max(J, 0.2), in units of the reward (own derivation): the group-mean baseline
/// divided by the gain of its channel, so that prompts of several channels have equal weight.
/// `None` for all members without rates, unless J > 0, and when fewer than two are graded.
#[must_use]
pub fn gain(members: &[Member<'_>], rates: Option<Rates>) -> Vec<Option<f64>> {
    let (Some(rates), Some(mean)) = (usable(rates), mean_of_several(members)) else {
        return vec![None; members.len()];
    };
    each(members, |reward| (reward - mean) / rates.j().max(MIN_J))
}

/// ((r - mean) / J) / sqrt(p (1 - p)), in standard deviations: an estimate of the z-score of clean
/// verdicts (own derivation, similar to the plug-in estimator of arXiv 2510.18924). p = (q - rho0)
/// / J is clamped to \[1 / 2n, 1 - 1 / 2n\], where q is the share of passes of the n members with a
/// verdict.
///
/// The reward must be the verdict, 0 or 1. `None` for all members without rates, unless J > 0,
/// without a verdict, and when fewer than two are graded.
#[must_use]
pub fn zfix(members: &[Member<'_>], rates: Option<Rates>) -> Vec<Option<f64>> {
    let verdicts = members.iter().filter_map(Member::verdict);
    let (judged, passes) = verdicts.fold((0.0, 0.0), |(n, k), pass| {
        (n + 1.0, k + f64::from(u8::from(pass)))
    });
    let (Some(rates), Some(mean), true) = (usable(rates), mean_of_several(members), judged > 0.0)
    else {
        return vec![None; members.len()];
    };
    let least = 1.0 / (2.0 * judged);
    let p = ((passes / judged - rates.rho0) / rates.j()).clamp(least, 1.0 - least);
    each(members, |reward| {
        (reward - mean) / rates.j() / (p * (1.0 - p)).sqrt()
    })
}

#[cfg(test)]
mod tests {
    use assay_core::Reward;

    use super::*;

    fn members(verdicts: &[bool]) -> Vec<Member<'static>> {
        let member = |pass: &bool| Member {
            reward: Reward::new(f64::from(u8::from(*pass))).ok(),
            pass: Some(*pass),
            ..Member::default()
        };
        verdicts.iter().map(member).collect()
    }

    fn assert_close(got: &[Option<f64>], expected: &[f64]) {
        assert_eq!(got.len(), expected.len());
        assert!(
            got.iter()
                .zip(expected)
                .all(|(got, expected)| (got.unwrap() - expected).abs() < 1e-5),
            "{got:?}"
        );
    }

    #[test]
    fn a_single_graded_member_has_no_baseline() {
        let one = members(&[true]);
        for advantages in [
            gain(&one, Some(Rates::CLEAN)),
            zfix(&one, Some(Rates::CLEAN)),
        ] {
            assert_eq!(advantages, [None]);
        }
    }

    #[test]
    fn corrections_follow_the_formulas_of_the_rates() {
        // (0.2, 0.3), J = 0.5: backward (1 - 0.2) / 0.5 = 1.6 and -0.2 / 0.5 = -0.4; forward 0.3
        // and -0.7.
        let (pair, rates) = (members(&[true, false]), Rates::new(0.2, 0.3));
        assert_close(&backward(&pair, rates), &[1.6, -0.4]);
        assert_close(&forward(&pair, rates), &[0.3, -0.7]);
        // (1 - 0.5) / 0.5 = 1.
        assert_close(&gain(&pair, rates), &[1.0, -1.0]);
        // J = 0.1 is raised to 0.2: 0.5 / 0.2.
        assert_close(&gain(&pair, Rates::new(0.5, 0.4)), &[2.5, -2.5]);
    }

    #[test]
    fn corrections_are_none_without_usable_rates() {
        let pair = members(&[true, false]);
        for rates in [None, Rates::new(0.6, 0.5)] {
            for advantages in [
                backward(&pair, rates),
                forward(&pair, rates),
                gain(&pair, rates),
                zfix(&pair, rates),
            ] {
                assert_eq!(advantages, [None, None]);
            }
        }
    }

    #[test]
    fn zfix_divides_by_the_estimated_deviation_of_clean_verdicts() {
        // q = 3/4, (0.1, 0.2): p = 0.65 / 0.7 = 0.928571, clamped to 1 - 1/8 = 0.875; sqrt(0.875 *
        // 0.125) = 0.330719. (1 - 0.75) / 0.7 / 0.330719 = 1.079898; -0.75 / 0.7 / 0.330719 =
        // -3.239695.
        let three = members(&[true, true, true, false]);
        let right = 1.079_898;
        assert_close(
            &zfix(&three, Rates::new(0.1, 0.2)),
            &[right, right, right, -3.239_695],
        );
        // q = 1/2: p = 0.4 / 0.7 = 0.571429; 0.5 / 0.7 / sqrt(0.571429 * 0.428571) = 1.443376.
        assert_close(
            &zfix(&members(&[true, false]), Rates::new(0.1, 0.2)),
            &[1.443_376, -1.443_376],
        );
    }
}
