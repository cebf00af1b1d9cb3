//! The two rates of a noisy verifier, and what they make of a verdict.

use serde::{Deserialize, Serialize};

use crate::policy::read::number;

/// How often a verifier is wrong, both ways. The verdict is noisy given the truth and nothing else:
/// class-conditional noise (arXiv 2510.00915).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Rates {
    /// False-positive rate: P(pass | wrong), in \[0, 1\].
    pub rho0: f64,
    /// False-negative rate: P(no pass | right), in \[0, 1\].
    pub rho1: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    rho0: f64,
    rho1: f64,
}

impl TryFrom<Unchecked> for Rates {
    type Error = String;
    fn try_from(rates: Unchecked) -> Result<Self, String> {
        Self::new(rates.rho0, rates.rho1).ok_or_else(|| {
            let (rho0, rho1) = (number(rates.rho0), number(rates.rho1));
            format!("rates are shares from 0 to 1: rho0 {rho0}, rho1 {rho1}")
        })
    }
}

impl Rates {
    /// Of a verifier that never errs.
    pub const CLEAN: Self = Self {
        rho0: 0.0,
        rho1: 0.0,
    };

    /// Rates, each in \[0, 1\]; `None` outside.
    #[must_use]
    pub fn new(rho0: f64, rho1: f64) -> Option<Self> {
        let share = |rate: f64| (0.0..=1.0).contains(&rate);
        (share(rho0) && share(rho1)).then_some(Self { rho0, rho1 })
    }

    /// Youden's J, 1 - rho0 - rho1, in \[-1, 1\]: how much of the truth comes through.
    #[must_use]
    pub fn j(&self) -> f64 {
        1.0 - self.rho0 - self.rho1
    }

    /// Share of passes when a share `p` is right: q = rho0 + J p.
    #[must_use]
    pub fn q(&self, p: f64) -> f64 {
        (self.rho0 + self.j() * p).clamp(0.0, 1.0)
    }

    /// Backward correction of a verdict (arXiv 2510.00915): (r - rho0) / J, unbiased for the truth
    /// when the noise is fresh.
    ///
    /// For a trainer that uses rewards as they are. A trainer that centres by group loses nothing
    /// and gains nothing by it within one channel, and one that divides by the group's deviation
    /// gets the raw advantages back exactly.
    ///
    /// `None` unless J > 0: the sign would turn or the number be infinite.
    #[must_use]
    pub fn backward(&self, pass: bool) -> Option<f64> {
        let j = self.j();
        (j > 0.0).then(|| (f64::from(u8::from(pass)) - self.rho0) / j)
    }

    /// Forward coefficient of a verdict (arXiv 2510.00915): rho1 for a pass, rho1 - 1 for none; its
    /// mean given the truth is J (R* - 1).
    ///
    /// To be used *as* the advantage, on policy, without centring. Across channels it has to be
    /// divided by J.
    #[must_use]
    pub fn forward(&self, pass: bool) -> f64 {
        if pass { self.rho1 } else { self.rho1 - 1.0 }
    }

    /// The channel after a share `share` of its negatives went to a judge of this sensitivity and
    /// specificity, whose verdicts count: rho1 (1 - share s), rho0 + (1 - rho0) share (1 - c).
    #[must_use]
    pub fn after_appeals(&self, share: f64, sensitivity: f64, specificity: f64) -> Self {
        Self {
            rho0: (self.rho0 + (1.0 - self.rho0) * share * (1.0 - specificity)).clamp(0.0, 1.0),
            rho1: (self.rho1 * (1.0 - share * sensitivity)).clamp(0.0, 1.0),
        }
    }

    /// The channel after a share `share` of its positives was audited by such a judge, whose
    /// verdicts count: the mirror image of [`Rates::after_appeals`].
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
    fn backward_is_the_truth_on_average() {
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
    fn forward_has_the_mean_of_the_source() {
        let rates = Rates::new(0.2, 0.3).unwrap();
        let mean = |pass: f64| pass * rates.forward(true) + (1.0 - pass) * rates.forward(false);
        assert!(mean(0.7).abs() < 1e-12, "0 given right");
        assert!((mean(0.2) + rates.j()).abs() < 1e-12, "-J given wrong");
    }

    #[test]
    fn a_verifier_without_information_is_not_inverted() {
        assert_eq!(Rates::new(0.5, 0.5).unwrap().backward(true), None);
        assert_eq!(Rates::new(0.7, 0.5).unwrap().backward(true), None);
        assert_eq!(Rates::new(1.1, 0.0), None);
        assert_eq!(Rates::new(f64::NAN, 0.0), None);
    }

    #[test]
    fn appeals_change_both_rates() {
        // By hand: rho1 0.4 (1 - 0.5 * 0.9) = 0.22; rho0 0.1 + 0.9 * 0.5 * 0.02 = 0.109.
        let after = Rates::new(0.1, 0.4).unwrap().after_appeals(0.5, 0.9, 0.98);
        assert!((after.rho1 - 0.22).abs() < 1e-12 && (after.rho0 - 0.109).abs() < 1e-12);
        // rho0 0.1 (1 - 0.5 * 0.98) = 0.051; rho1 0.4 + 0.6 * 0.5 * 0.1 = 0.43.
        let after = Rates::new(0.1, 0.4).unwrap().after_audits(0.5, 0.9, 0.98);
        assert!((after.rho0 - 0.051).abs() < 1e-12 && (after.rho1 - 0.43).abs() < 1e-12);
    }
}
