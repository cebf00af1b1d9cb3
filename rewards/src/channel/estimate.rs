//! Rates of a channel, from the share of wrong verdicts on each side.
//!
//! Of n0 negatives a share f is right, and of n1 positives a share e is wrong. Then rho1 = n0 f /
//! (n0 f + n1 (1 - e)) and rho0 = n1 e / (n1 e + n0 (1 - f)) (arXiv 2510.00915, section on appeals;
//! own derivation for e > 0). Both are monotone in f and in e, so intervals of f and e map to
//! intervals of the rates. The sampling error of the graded items themselves is added.

use serde::Serialize;

use super::window::Window;
use crate::Rates;
use crate::interval::{Estimate, Interval, SHARES, error_rate};

/// Rates of a channel measured by its checks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// False-positive rate in \[0, 1\]; requires audits of positives.
    pub rho0: Option<Estimate>,
    /// False-negative rate in \[0, 1\]; requires appeals of negatives. Without audits every
    /// positive is assumed to be right, which makes it too low if some are wrong.
    pub rho1: Option<Estimate>,
    /// 1 - rho0 - rho1 in \[-1, 1\]; requires appeals and audits.
    pub j: Option<Estimate>,
    /// Share of all items that are right, in \[0, 1\].
    pub right: Option<f64>,
}

/// Rates from the counts of negatives and positives and the share of each that is wrong.
///
/// After correction for a judge's errors, the shares may lie below 0 or above 1. Rates are computed
/// from the shares clamped to \[0, 1\]. The interval of J contains those from the clamped and from
/// the unclamped shares. With clamped shares only, a true share of 0 has no error below it to
/// offset estimates that are too high; in simulation, the interval of J then lay below the true J
/// in up to 15 of 100 channels. With unclamped shares only, it can lie above the estimate.
#[must_use]
pub fn measured(
    window: &Window,
    wrong_negatives: Option<Estimate>,
    wrong_positives: Option<Estimate>,
) -> Measured {
    let (n0, n1) = (window.negatives.sum, window.positives.sum);
    let items = {
        let mut all = window.negatives;
        all.add(&window.positives, 1.0);
        all.effective()
    };
    if n0 + n1 <= 0.0 {
        return Measured {
            rho0: None,
            rho1: None,
            j: None,
            right: None,
        };
    }
    // A side without items needs no checks.
    let f = if n0 > 0.0 {
        wrong_negatives
    } else {
        Some(Estimate::known(0.0))
    };
    let e = if n1 > 0.0 {
        wrong_positives
    } else {
        Some(Estimate::known(0.0))
    };
    let unclamped = f.zip(e);
    let (f, e) = (f.map(|f| f.clamped(SHARES)), e.map(|e| e.clamped(SHARES)));
    let rho0 = |f: f64, e: f64| rates_of(n0, n1, f, e).rho0;
    let rho1 = |f: f64, e: f64| rates_of(n0, n1, f, e).rho1;
    let right = |f: f64, e: f64| (n0 * f + n1 * (1.0 - e)) / (n0 + n1);

    let assumed = e.unwrap_or(Estimate::known(0.0));
    let rho1_estimate = f.map(|f| {
        let rate = Estimate::combine([f, assumed], SHARES, |[f, e]| rho1(f, e));
        with_sampling_error(rate, items * right(f.value, assumed.value))
    });
    let both = f.zip(e);
    let rho0_estimate = both.map(|(f, e)| {
        let rate = Estimate::combine([f, e], SHARES, |[f, e]| rho0(f, e));
        with_sampling_error(rate, items * (1.0 - right(f.value, e.value)))
    });
    let rates = rho0_estimate.zip(rho1_estimate);
    let j = unclamped
        .zip(both)
        .zip(rates)
        .map(|(((f, e), clamped), (rho0, rho1))| {
            let range = Interval::new(-1.0, 1.0);
            let right = right(clamped.0.value, clamped.1.value);
            let interval = |shares: [Estimate; 2]| {
                Estimate::combine(shares, range, |[f, e]| unclamped_j(n0, n1, f, e))
                    .widened(&negated(sampling_error(rho0.value, items * (1.0 - right))))
                    .widened(&negated(sampling_error(rho1.value, items * right)))
                    .within(range)
                    .interval
            };
            let (unclamped, clamped) = (interval([f, e]), interval([clamped.0, clamped.1]));
            Estimate {
                value: 1.0 - rho0.value - rho1.value,
                interval: Interval::new(
                    unclamped.low.min(clamped.low),
                    unclamped.high.max(clamped.high),
                ),
            }
        });
    let right = f.map(|f| right(f.value, assumed.value));
    Measured {
        rho0: rho0_estimate,
        rho1: rho1_estimate,
        j,
        right,
    }
}

/// The rate of one checked side, in \[0, 1\], where the other rate comes from another source.
///
/// Of n0 negatives a share f is right. So n0 (1 - f) / (1 - rho0) of the n items are wrong, the
/// others are right, and rho1 = n0 f / (n - n0 (1 - f) / (1 - rho0)). Exchanging the sides yields
/// rho0 from rho1 (own derivation).
///
/// Computing first the share of wrong positives that follows from f and rho0 yields the same value,
/// but that share depends on f, so an interval that treats the two as independent is too wide.
#[must_use]
pub fn rate_given_other(
    window: &Window,
    passes: bool,
    wrong: Estimate,
    other: Estimate,
) -> Estimate {
    let one_sided = OneSided::of(window, passes);
    let rate = Estimate::combine([wrong, other], SHARES, |[wrong, other]| {
        one_sided.rate(wrong, other)
    });
    with_sampling_error(rate, one_sided.answers(wrong.value, other.value))
}

/// J in \[-1, 1\] where one side was checked and the other rate comes from another source: 1 -
/// other - rate.
///
/// The rate of [`rate_given_other`] depends on the other rate, so both are varied together (own
/// derivation).
#[must_use]
pub fn j_given_other(window: &Window, passes: bool, wrong: Estimate, other: Estimate) -> Estimate {
    let (one_sided, range) = (OneSided::of(window, passes), Interval::new(-1.0, 1.0));
    let j = Estimate::combine([wrong, other], range, |[wrong, other]| {
        1.0 - other - one_sided.rate(wrong, other)
    });
    let rate = one_sided.rate(wrong.value, other.value);
    j.widened(&negated(sampling_error(
        rate,
        one_sided.answers(wrong.value, other.value),
    )))
    .within(range)
}

/// A window of which only one side was checked.
struct OneSided {
    /// Sum of the weights of all items.
    items: f64,
    /// Sum of the weights of the checked side.
    side: f64,
    /// Effective number of all items.
    effective: f64,
}

impl OneSided {
    fn of(window: &Window, passes: bool) -> Self {
        let mut all = window.negatives;
        all.add(&window.positives, 1.0);
        let side = if passes {
            window.positives.sum
        } else {
            window.negatives.sum
        };
        Self {
            items: all.sum,
            side,
            effective: all.effective(),
        }
    }

    /// Weight of all items of the truth for which a verdict of this side is wrong.
    fn of_truth(&self, wrong: f64, other: f64) -> f64 {
        let rest = self.items - self.side * (1.0 - wrong) / (1.0 - other).max(1e-9);
        rest.max(self.side * wrong)
    }

    fn rate(&self, wrong: f64, other: f64) -> f64 {
        let mistaken = self.side * wrong;
        if mistaken <= 0.0 {
            0.0
        } else {
            (mistaken / self.of_truth(wrong, other)).min(1.0)
        }
    }

    /// [`OneSided::of_truth`] as an effective number of items.
    fn answers(&self, wrong: f64, other: f64) -> f64 {
        self.effective * (self.of_truth(wrong, other) / self.items.max(1.0)).clamp(0.0, 1.0)
    }
}

/// Rates from the numbers of negatives and positives and the share of each that is wrong, by the
/// formulas of this module. A rate without answers of its truth is 0.
#[must_use]
pub fn rates_of(
    negatives: f64,
    positives: f64,
    wrong_negatives: f64,
    wrong_positives: f64,
) -> Rates {
    let (right_rejected, wrong_passed) = (negatives * wrong_negatives, positives * wrong_positives);
    Rates {
        rho0: ratio(wrong_passed, negatives - right_rejected),
        rho1: ratio(right_rejected, positives - wrong_passed),
    }
}

/// J from shares that may lie below 0 or above 1. Rates may then leave \[0, 1\] as well; they are
/// clamped to \[-1, 2\].
fn unclamped_j(negatives: f64, positives: f64, wrong_negatives: f64, wrong_positives: f64) -> f64 {
    let (right_rejected, wrong_passed) = (negatives * wrong_negatives, positives * wrong_positives);
    let rate = |a: f64, b: f64| {
        if a + b > 0.0 {
            (a / (a + b)).clamp(-1.0, 2.0)
        } else if a < 0.0 {
            -1.0
        } else if b < 0.0 {
            2.0
        } else {
            0.0
        }
    };
    1.0 - rate(wrong_passed, negatives - right_rejected)
        - rate(right_rejected, positives - wrong_passed)
}

/// a / (a + b); 0 if a + b is not positive.
fn ratio(a: f64, b: f64) -> f64 {
    if a + b > 0.0 { a / (a + b) } else { 0.0 }
}

/// Sampling error of a rate over `n` answers of one truth. It remains when every verdict is
/// checked.
fn sampling_error(rate: f64, n: f64) -> Estimate {
    error_rate(rate * n, n).unwrap_or(Estimate::known(rate))
}

fn with_sampling_error(rate: Estimate, n: f64) -> Estimate {
    rate.widened(&sampling_error(rate.value, n)).within(SHARES)
}

/// The estimate of the negated quantity.
fn negated(estimate: Estimate) -> Estimate {
    let interval = Interval::new(-estimate.interval.high, -estimate.interval.low);
    Estimate {
        value: -estimate.value,
        interval,
    }
}

/// Number of appeals needed for an interval of rho1 of half width `half` (in units of the rate):
/// (1.96 / half)^2 rho1 (1 - rho1)^2 (1 - p)(1 - rho0) / p, where a share `p` > 0 of the items is
/// right, the errors of positives are known, and the channel has many items (own derivation from
/// the variance of f).
#[must_use]
pub fn appeals_needed(half: f64, rho0: f64, rho1: f64, p: f64) -> f64 {
    (crate::interval::Z / half).powi(2) * rho1 * (1.0 - rho1).powi(2) * (1.0 - p) * (1.0 - rho0) / p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tally, wilson};

    fn window(negatives: f64, positives: f64) -> Window {
        Window {
            negatives: Tally::of(negatives),
            positives: Tally::of(positives),
            ..Window::default()
        }
    }

    #[test]
    fn rates_match_the_confusion_matrix() {
        // Of 1,000 items 300 are right; rho1 = 0.2 rejects 60 of them, rho0 = 0.1 passes 70 of the
        // others. Negatives: 60 right + 630 wrong; positives: 240 right + 70 wrong.
        let (f, e) = (Estimate::known(60.0 / 690.0), Estimate::known(70.0 / 310.0));
        let measured = measured(&window(690.0, 310.0), Some(f), Some(e));
        assert!((measured.rho1.unwrap().value - 0.2).abs() < 1e-12);
        assert!((measured.rho0.unwrap().value - 0.1).abs() < 1e-12);
        assert!((measured.j.unwrap().value - 0.7).abs() < 1e-12);
        assert!((measured.right.unwrap() - 0.3).abs() < 1e-12);
        // The sampling error of 300 right and 700 wrong answers remains.
        let sampling_error = wilson(60.0, 300.0).unwrap().interval;
        assert!((measured.rho1.unwrap().interval.low - sampling_error.low).abs() < 1e-12);
    }

    #[test]
    fn without_audits_rho1_is_too_low_by_a_known_factor() {
        // p rho1 / (p + (1 - p) rho0) = 0.3 * 0.4 / (0.3 + 0.7 * 0.2) = 0.2727 instead of 0.4.
        let f = Estimate::known(0.12 / (0.12 + 0.56));
        let measured = measured(&window(680.0, 320.0), Some(f), None);
        assert!((measured.rho1.unwrap().value - 0.12 / 0.44).abs() < 1e-12);
        assert_eq!((measured.rho0, measured.j), (None, None));
    }

    #[test]
    fn rates_are_none_without_items() {
        assert_eq!(measured(&window(0.0, 0.0), None, None).rho1, None);
        let all_passed = measured(&window(0.0, 10.0), None, None);
        assert!(
            all_passed.rho1.unwrap().value.abs() < 1e-15,
            "no right answer was rejected"
        );
    }

    #[test]
    fn rate_given_the_other_matches_the_confusion_matrix() {
        // 1,000 items: 690 negatives of which 60 are right, 310 positives of which 70 are wrong.
        let window = window(690.0, 310.0);
        let rho1 = rate_given_other(
            &window,
            false,
            Estimate::known(60.0 / 690.0),
            Estimate::known(0.1),
        );
        let rho0 = rate_given_other(
            &window,
            true,
            Estimate::known(70.0 / 310.0),
            Estimate::known(0.2),
        );
        assert!((rho1.value - 0.2).abs() < 1e-12 && (rho0.value - 0.1).abs() < 1e-12);
        // The sampling error of 300 right and 700 wrong answers remains.
        for (rate, errors, answers) in [(rho1, 60.0, 300.0), (rho0, 70.0, 700.0)] {
            let sampling_error = wilson(errors, answers).unwrap().interval;
            assert!(
                (rate.interval.low - sampling_error.low).abs() < 1e-9
                    && (rate.interval.high - sampling_error.high).abs() < 1e-9,
                "{rate:?}"
            );
        }
        // f = 0.1 also changes the number of right answers: 69 / (1,000 - 621 / 0.9) = 0.222581.
        let f = Estimate {
            interval: Interval::new(60.0 / 690.0, 0.1),
            ..Estimate::known(60.0 / 690.0)
        };
        let many = Window {
            negatives: Tally::of(690e6),
            positives: Tally::of(310e6),
            ..Window::default()
        };
        assert!(
            (rate_given_other(&many, false, f, Estimate::known(0.1))
                .interval
                .high
                - 0.222_581)
                .abs()
                < 1e-4
        );
        // The inputs imply more wrong answers than items, so all right answers were rejected.
        let all = rate_given_other(&window, false, Estimate::known(0.1), Estimate::known(0.9));
        assert!((all.value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn j_given_other_includes_the_effect_of_the_other_rate_on_the_checked_one() {
        // rho0 = 0.12 implies 1,000 - 630 / 0.88 = 284.091 right answers: rho1 = 60 / 284.091 =
        // 0.2112, J = 1 - 0.12 - 0.2112.
        let many = Window {
            negatives: Tally::of(690e6),
            positives: Tally::of(310e6),
            ..Window::default()
        };
        let rho0 = Estimate {
            value: 0.1,
            interval: Interval::new(0.1, 0.12),
        };
        let j = j_given_other(&many, false, Estimate::known(60.0 / 690.0), rho0);
        assert!(
            (j.value - 0.7).abs() < 1e-12 && (j.interval.low - 0.6688).abs() < 1e-4,
            "{j:?}"
        );
    }

    #[test]
    fn interval_of_j_contains_those_of_clamped_and_unclamped_shares() {
        // 10^9 items, so that their sampling error is negligible.
        // J(e) = 1 - 310 e / (310 e + 630) - 60 / (60 + 310 (1 - e)):
        // J(0.03) = 1 - 0.0145472 - 0.1663432, J(-0.05) = 1 + 0.0252238 - 0.1556420. From the
        // clamped share 0 the error goes down to J(0.03) as well.
        let f = Estimate::known(60.0 / 690.0);
        let e = Estimate {
            value: -0.01,
            interval: Interval::new(-0.05, 0.03),
        };
        let measured = measured(&window(690e6, 310e6), Some(f), Some(e));
        let j = measured.j.unwrap();
        assert!(
            (j.interval.low - 0.819_110).abs() < 1e-4 && (j.interval.high - 0.869_582).abs() < 1e-4,
            "{j:?}"
        );
        // The value uses the clamped rates: 1 - 0 - 60 / 370.
        assert!(
            (j.value - 310.0 / 370.0).abs() < 1e-9 && measured.rho0.unwrap().value.abs() < 1e-15
        );
    }

    #[test]
    fn number_of_appeals_needed_matches_the_formula() {
        // (1.96 / 0.05)^2 * 0.2 * 0.64 * 0.7 / 0.3 = 459 for rho = (0, 0.2), p = 0.3.
        assert!((appeals_needed(0.05, 0.0, 0.2, 0.3) - 458.9).abs() < 0.5);
        // 413 for rho = (0.2, 0.4), p = 0.3.
        assert!((appeals_needed(0.05, 0.2, 0.4, 0.3) - 413.0).abs() < 1.0);
    }
}
