//! The two error rates of a noisy verifier, and the corrections of a verdict that use them.

use serde::{Deserialize, Serialize};

use crate::format::format_number;

/// Error rates of a verifier under class-conditional noise (arXiv 2510.00915): the probability of
/// a wrong verdict depends only on whether the answer is right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedRates")]
pub struct Rates {
    /// False-positive rate P(pass | wrong), in \[0, 1\].
    pub rho0: f64,
    /// False-negative rate P(no pass | right), in \[0, 1\].
    pub rho1: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedRates {
    rho0: f64,
    rho1: f64,
}

impl TryFrom<UncheckedRates> for Rates {
    type Error = String;
    fn try_from(rates: UncheckedRates) -> Result<Self, String> {
        Self::new(rates.rho0, rates.rho1).ok_or_else(|| {
            let (rho0, rho1) = (format_number(rates.rho0), format_number(rates.rho1));
            format!("`rho0` and `rho1` must be from 0 to 1; found {rho0} and {rho1}")
        })
    }
}

impl Rates {
    /// Rates of a verifier that makes no errors.
    pub const CLEAN: Self = Self {
        rho0: 0.0,
        rho1: 0.0,
    };

    /// Creates rates; `None` unless both are in \[0, 1\].
    #[must_use]
    pub fn new(rho0: f64, rho1: f64) -> Option<Self> {
        let share = |rate: f64| (0.0..=1.0).contains(&rate);
        (share(rho0) && share(rho1)).then_some(Self { rho0, rho1 })
    }

    /// Youden's J = 1 - rho0 - rho1, in \[-1, 1\] (Youden 1950): 1 for a verifier without errors, 0
    /// where verdicts carry no information.
    #[must_use]
    pub fn j(&self) -> f64 {
        1.0 - self.rho0 - self.rho1
    }

    /// Expected share of passes q = rho0 + J p, in \[0, 1\], where a share `p` of the answers is
    /// right.
    #[must_use]
    pub fn q(&self, p: f64) -> f64 {
        (self.rho0 + self.j() * p).clamp(0.0, 1.0)
    }

    /// Backward correction of a verdict r in {0, 1}: (r - rho0) / J (arXiv 2510.00915). Its
    /// expectation is the truth when the noise of each verdict is drawn independently.
    ///
    /// For trainers that use rewards without normalising them. Within one channel, a trainer that
    /// subtracts the group mean gets the raw advantages divided by J, and one that also divides by
    /// the group's standard deviation gets exactly the raw advantages.
    ///
    /// `None` unless J > 0; otherwise the sign would flip or the result would be infinite.
    #[must_use]
    pub fn backward(&self, pass: bool) -> Option<f64> {
        let j = self.j();
        (j > 0.0).then(|| (f64::from(u8::from(pass)) - self.rho0) / j)
    }

    /// Forward weight of a verdict: rho1 for a pass, rho1 - 1 otherwise (arXiv 2510.00915). Its
    /// expectation given the truth R* is J (R* - 1).
    ///
    /// Use it *as* the advantage, on policy, without centring. Across channels, divide it by J.
    #[must_use]
    pub fn forward(&self, pass: bool) -> f64 {
        if pass { self.rho1 } else { self.rho1 - 1.0 }
    }

    /// Rates after a share `share` of the negatives was decided by a judge with this sensitivity s
    /// and specificity c: rho1' = rho1 (1 - share s), rho0' = rho0 + (1 - rho0) share (1 - c) (own
    /// derivation). All arguments and results are in \[0, 1\].
    #[must_use]
    pub fn after_appeals(&self, share: f64, sensitivity: f64, specificity: f64) -> Self {
        Self {
            rho0: (self.rho0 + (1.0 - self.rho0) * share * (1.0 - specificity)).clamp(0.0, 1.0),
            rho1: (self.rho1 * (1.0 - share * sensitivity)).clamp(0.0, 1.0),
        }
    }

    /// Rates after a share `share` of the positives was decided by such a judge: rho0' = rho0 (1 -
    /// share c), rho1' = rho1 + (1 - rho1) share (1 - s) (own derivation), the mirror image of
    /// [`Rates::after_appeals`].
    #[must_use]
    pub fn after_audits(&self, share: f64, sensitivity: f64, specificity: f64) -> Self {
        Self {
            rho0: (self.rho0 * (1.0 - share * specificity)).clamp(0.0, 1.0),
            rho1: (self.rho1 + (1.0 - self.rho1) * share * (1.0 - sensitivity)).clamp(0.0, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backward_is_unbiased_for_the_truth() {
        let rates = Rates::new(0.2, 0.3).unwrap();
        let (right, wrong) = (
            rates.backward(true).unwrap(),
            rates.backward(false).unwrap(),
        );
        assert!((right - 1.6).abs() < 1e-12 && (wrong + 0.4).abs() < 1e-12);
        assert!(
            (0.7 * right + 0.3 * wrong - 1.0).abs() < 1e-12,
            "E[. | right] = 1"
        );
        assert!(
            (0.2 * right + 0.8 * wrong).abs() < 1e-12,
            "E[. | wrong] = 0"
        );
    }

    #[test]
    fn forward_has_the_published_conditional_mean() {
        let rates = Rates::new(0.2, 0.3).unwrap();
        let mean = |pass: f64| pass * rates.forward(true) + (1.0 - pass) * rates.forward(false);
        assert!(mean(0.7).abs() < 1e-12, "0 given right");
        assert!((mean(0.2) + rates.j()).abs() < 1e-12, "-J given wrong");
    }

    #[test]
    fn backward_is_none_unless_j_is_positive() {
        assert_eq!(Rates::new(0.5, 0.5).unwrap().backward(true), None);
        assert_eq!(Rates::new(0.7, 0.5).unwrap().backward(true), None);
        assert_eq!(Rates::new(1.1, 0.0), None);
        assert_eq!(Rates::new(f64::NAN, 0.0), None);
    }

    #[test]
    fn appeals_and_audits_change_both_rates() {
        // By hand: rho1 0.4 (1 - 0.5 * 0.9) = 0.22; rho0 0.1 + 0.9 * 0.5 * 0.02 = 0.109.
        let after = Rates::new(0.1, 0.4).unwrap().after_appeals(0.5, 0.9, 0.98);
        assert!((after.rho1 - 0.22).abs() < 1e-12 && (after.rho0 - 0.109).abs() < 1e-12);
        // rho0 0.1 (1 - 0.5 * 0.98) = 0.051; rho1 0.4 + 0.6 * 0.5 * 0.1 = 0.43.
        let after = Rates::new(0.1, 0.4).unwrap().after_audits(0.5, 0.9, 0.98);
        assert!((after.rho0 - 0.051).abs() < 1e-12 && (after.rho1 - 0.43).abs() < 1e-12);
    }
}
