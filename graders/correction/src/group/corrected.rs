//! Advantages that take the noise of a channel into account, one group at a time. Estimates no
//! rates: whoever hands them in has decided that they are certain enough.
//!
//! Within one group each is a rising straight line of the raw reward; only the slopes, which differ
//! between channels, and the offsets, which act on trainers that do not centre, are new.

use super::Member;
use super::advantage::{each, each_verdict, mean_of_several};
use crate::Rates;

/// Least J that a gain divides by: below it a channel is under-weighted, and variance stays
/// bounded.
pub const LEAST_J: f64 = 0.2;

/// Backward-corrected verdicts ([`Rates::backward`]); `None` for all without rates or without J >
/// 0.
#[must_use]
pub fn backward(members: &[Member<'_>], rates: Option<Rates>) -> Vec<Option<f64>> {
    each_verdict(members, |pass| rates?.backward(pass))
}

/// Forward coefficients ([`Rates::forward`]); `None` for all without rates or without J > 0, where
/// they would teach nothing or the contrary.
#[must_use]
pub fn forward(members: &[Member<'_>], rates: Option<Rates>) -> Vec<Option<f64>> {
    let rates = usable(rates);
    each_verdict(members, |pass| Some(rates?.forward(pass)))
}

fn usable(rates: Option<Rates>) -> Option<Rates> {
    rates.filter(|rates| rates.j() > 0.0)
}

/// (r - mean) / max(J, 0.2) (own derivation): the group-mean baseline with the gain of its channel
/// taken out, so that prompts of several channels count alike. `None` for all without rates,
/// without J > 0, and when fewer than two are graded.
#[must_use]
pub fn gain(members: &[Member<'_>], rates: Option<Rates>) -> Vec<Option<f64>> {
    let (Some(rates), Some(mean)) = (usable(rates), mean_of_several(members)) else {
        return vec![None; members.len()];
    };
    each(members, |reward| (reward - mean) / rates.j().max(LEAST_J))
}

/// ((r - mean) / J) / sqrt(p (1 - p)) with p = (q - rho0) / J held within \[1 / 2n, 1 - 1 / 2n\], q
/// the share of passes of the n judged members: the z-score that clean verdicts would have had (own
/// derivation; the plug-in of arXiv 2510.18924 is alike).
///
/// For rewards that are the verdict, 0 or 1. `None` for all without rates, without J > 0, without a
/// verdict, and when fewer than two are graded.
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

    fn close(got: &[Option<f64>], expected: &[f64]) {
        assert_eq!(got.len(), expected.len());
        assert!(
            got.iter()
                .zip(expected)
                .all(|(got, expected)| (got.unwrap() - expected).abs() < 1e-5),
            "{got:?}"
        );
    }

    #[test]
    fn one_graded_member_has_no_baseline() {
        let one = members(&[true]);
        for advantages in [
            gain(&one, Some(Rates::CLEAN)),
            zfix(&one, Some(Rates::CLEAN)),
        ] {
            assert_eq!(advantages, [None]);
        }
    }

    #[test]
    fn corrections_of_verdicts_are_those_of_the_rates() {
        // (0.2, 0.3), J = 0.5: backward (1 - 0.2) / 0.5 = 1.6 and -0.2 / 0.5 = -0.4; forward 0.3
        // and -0.7.
        let (pair, rates) = (members(&[true, false]), Rates::new(0.2, 0.3));
        close(&backward(&pair, rates), &[1.6, -0.4]);
        close(&forward(&pair, rates), &[0.3, -0.7]);
        // (1 - 0.5) / 0.5 = 1.
        close(&gain(&pair, rates), &[1.0, -1.0]);
        // J = 0.1 counts as 0.2: 0.5 / 0.2.
        close(&gain(&pair, Rates::new(0.5, 0.4)), &[2.5, -2.5]);
    }

    #[test]
    fn nothing_is_corrected_without_usable_rates() {
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
    fn zfix_is_the_z_score_of_clean_verdicts() {
        // q = 3/4, (0.1, 0.2): p = 0.65 / 0.7 = 0.928571, held below 1 - 1/8 = 0.875; sqrt(0.875 *
        // 0.125) = 0.330719. (1 - 0.75) / 0.7 / 0.330719 = 1.079898; -0.75 / 0.7 / 0.330719 =
        // -3.239695.
        let three = members(&[true, true, true, false]);
        let right = 1.079_898;
        close(
            &zfix(&three, Rates::new(0.1, 0.2)),
            &[right, right, right, -3.239_695],
        );
        // q = 1/2: p = 0.4 / 0.7 = 0.571429; 0.5 / 0.7 / sqrt(0.571429 * 0.428571) = 1.443376.
        close(
            &zfix(&members(&[true, false]), Rates::new(0.1, 0.2)),
            &[1.443_376, -1.443_376],
        );
    }
}
