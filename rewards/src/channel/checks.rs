//! The share of a grader's verdicts that are wrong, estimated from checks. Checks are weighted by
//! the inverse of their selection probability and corrected for the errors of judges.

use crate::channel::counts::JudgeCounts;

use super::window::{Findings, count};
use crate::interval::{Estimate, Interval, SHARES, error_rate};

/// Minimum sensitivity + specificity - 1 of a judge. Checks of a judge below it are ignored.
pub const MIN_JUDGE_YOUDEN: f64 = 0.1;

/// Range of an estimated share after correction for a judge's errors, not clamped to \[0, 1\].
const UNCLAMPED: Interval = Interval::new(-1.0, 2.0);

/// Accuracy of a judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judge {
    /// Share of right answers that it passes.
    pub sensitivity: Estimate,
    /// Share of wrong answers that it does not pass.
    pub specificity: Estimate,
}

/// Number of adjudicated items that the sensitivity and specificity declared by a policy count as.
const DECLARED_ITEMS: f64 = 20.0;

impl Judge {
    /// Combines the sensitivity and specificity declared by a policy with the judge's verdicts on
    /// items that operators adjudicated.
    ///
    /// Without adjudicated items the declared values are used as exact. With n items of which k
    /// agree, the value is (20 declared + k) / (20 + n) with the interval of 20 + n items.
    #[must_use]
    pub fn new(sensitivity: f64, specificity: f64, truths: JudgeCounts) -> Self {
        let share = |declared: f64, hits: i64, n: i64| {
            if n <= 0 {
                return Estimate::known(declared);
            }
            let (hits, n) = (
                count(hits.clamp(0, n).unsigned_abs()),
                count(n.unsigned_abs()),
            );
            let items = DECLARED_ITEMS + n;
            error_rate(declared * DECLARED_ITEMS + hits, items).unwrap_or(Estimate::known(declared))
        };
        Self {
            sensitivity: share(sensitivity, truths.right_passed, truths.right),
            specificity: share(specificity, truths.wrong_rejected, truths.wrong),
        }
    }

    /// A judge that makes no errors: the operator.
    pub const PERFECT: Self = Self {
        sensitivity: Estimate {
            value: 1.0,
            interval: Interval::new(1.0, 1.0),
        },
        specificity: Estimate {
            value: 1.0,
            interval: Interval::new(1.0, 1.0),
        },
    };

    /// Youden's J of the judge, sensitivity + specificity - 1, in \[-1, 1\].
    fn youden(&self) -> f64 {
        self.sensitivity.value + self.specificity.value - 1.0
    }

    pub(super) fn is_fallible(&self) -> bool {
        self.sensitivity != Estimate::known(1.0) || self.specificity != Estimate::known(1.0)
    }

    /// Share of right answers among items of which the judge passes the share `passed`:
    /// (passed + c - 1) / (s + c - 1) (Rogan and Gladen 1978, doi
    /// 10.1093/oxfordjournals.aje.a112510).
    ///
    /// Sampling error can move it below 0 or above 1. Clamping it there would drop the error on one
    /// side, and estimates computed from it would have intervals that are too narrow. It is
    /// therefore limited to \[-1, 2\] only.
    ///
    /// If the judge passes more than s, or less than 1 - c, it may be more accurate than declared.
    /// The interval with the declared values may then lie outside of \[0, 1\], and clamping it
    /// would claim certainty. The interval is therefore extended to that of a judge with s or 1 - c
    /// equal to the share, and if the interval of the share excludes the declared value, to that of
    /// a judge with s or c = 1 (own derivation).
    #[must_use]
    pub fn right_share(&self, passed: Estimate) -> Estimate {
        let share =
            |[passed, s, c]: [f64; 3]| (passed + c - 1.0) / (s + c - 1.0).max(MIN_JUDGE_YOUDEN);
        let (s, c) = (self.sensitivity, self.specificity);
        let mut right = Estimate::combine([passed, s, c], UNCLAMPED, share);
        let Estimate { value, interval } = passed;
        if value > s.value {
            let better = if interval.low > s.value { 1.0 } else { value };
            let low = share([interval.low, better, c.value]);
            right.interval.low = right.interval.low.min(low);
        }
        if value < 1.0 - c.value {
            let excluded = interval.high < 1.0 - c.value;
            let better = if excluded { 1.0 } else { 1.0 - value };
            let high = share([interval.high, s.value, better]);
            right.interval.high = right.interval.high.max(high);
        }
        right
    }
}

/// Share of the verdicts of one side that are wrong: negatives that are right answers, or positives
/// that are wrong answers. `None` without checks.
///
/// `population` is the effective number of such verdicts in the window
/// ([`Tally::effective`](crate::Tally::effective)). It sets the finite population correction: a
/// sample of n of N items has the interval of n / (1 - n / N) items. Several checkers are averaged,
/// each weighted by its number of checks times the square of its Youden's J (own derivation: the
/// inverse variance of [`Judge::right_share`] if checkers disagree equally often).
///
/// With a fallible judge the value can lie below 0 or above 1 ([`Judge::right_share`]); clamp it to
/// \[0, 1\] to use it as a share.
#[must_use]
pub fn wrong_share(findings: &[(&Findings, Judge)], population: f64) -> Option<Estimate> {
    let parts: Vec<(Estimate, f64)> = findings
        .iter()
        .filter_map(|(found, judge)| share_by_checker(found, judge, population))
        .collect();
    pool(&parts)
}

/// Wrong share according to one checker, and its weight among checkers.
fn share_by_checker(found: &Findings, judge: &Judge, population: f64) -> Option<(Estimate, f64)> {
    let youden = judge.youden();
    let checks = found.checks.effective();
    if youden < MIN_JUDGE_YOUDEN || checks <= 0.0 {
        return None;
    }
    let disagreed = (found.disagreed / found.checks.sum).clamp(0.0, 1.0);
    // Checking every item removes the error of sampling items, but not the errors of the judge.
    let sampled = (checks / population.max(1.0)).min(1.0);
    let effective_checks = if judge.is_fallible() {
        checks
    } else {
        checks / (1.0 - sampled).max(1e-9)
    };
    let disagreed = error_rate(disagreed * effective_checks, effective_checks)?;
    let wrong = if found.checker.passes {
        // The judge rejects what the grader passed.
        let passed = Estimate::combine([disagreed], SHARES, |[rejected]| 1.0 - rejected);
        Estimate::combine([judge.right_share(passed)], UNCLAMPED, |[right]| {
            1.0 - right
        })
    } else {
        judge.right_share(disagreed)
    };
    Some((wrong, checks * youden * youden))
}

/// Weighted mean of independent estimates; margins add in quadrature.
fn pool(parts: &[(Estimate, f64)]) -> Option<Estimate> {
    let total: f64 = parts.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return None;
    }
    let value: f64 = parts
        .iter()
        .map(|(part, weight)| part.value * weight)
        .sum::<f64>()
        / total;
    let margin = |bound: fn(&Estimate) -> f64| {
        parts
            .iter()
            .map(|(part, weight)| ((bound(part) - part.value) * weight / total).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let interval = Interval::new(
        value - margin(|part| part.interval.low),
        value + margin(|part| part.interval.high),
    );
    Some(Estimate { value, interval })
}

/// Probability, in \[0, 1\], that a negative which the judge passes is right: f s / (f s + (1 -
/// f)(1 - c)) by Bayes' rule, where `wrong_negatives` f is the share of negatives that are right.
///
/// It is 1 for a judge that never passes a wrong answer (c = 1), even where f is unknown. `None`
/// where it cannot be computed.
#[must_use]
pub fn precision_of_overturned_negative(
    judge: &Judge,
    wrong_negatives: Option<f64>,
) -> Option<f64> {
    precision(
        judge.sensitivity.value,
        judge.specificity.value,
        wrong_negatives,
    )
}

/// Probability, in \[0, 1\], that a positive which the judge rejects is wrong: e c / (e c + (1 -
/// e)(1 - s)) by Bayes' rule, where `wrong_positives` e is the share of positives that are wrong.
///
/// It is 1 for a judge that never rejects a right answer (s = 1), even where e is unknown. `None`
/// where it cannot be computed.
#[must_use]
pub fn precision_of_overturned_positive(
    judge: &Judge,
    wrong_positives: Option<f64>,
) -> Option<f64> {
    precision(
        judge.specificity.value,
        judge.sensitivity.value,
        wrong_positives,
    )
}

/// Positive predictive value of a test with this true positive rate and true negative rate.
fn precision(true_positive: f64, true_negative: f64, prevalence: Option<f64>) -> Option<f64> {
    if true_positive > 0.0 && true_negative >= 1.0 {
        return Some(1.0);
    }
    let prevalence = prevalence?;
    let right = prevalence * true_positive;
    let wrong = (1.0 - prevalence) * (1.0 - true_negative);
    (right + wrong > 0.0).then(|| right / (right + wrong))
}

#[cfg(test)]
mod tests {
    use crate::channel::counts::Checker;

    use super::*;
    use crate::{Tally, wilson};

    fn findings(passes: bool, checks: f64, disagreed: f64) -> Findings {
        let checker = Checker {
            judge: "j@1".to_owned(),
            sensitivity: 1.0,
            specificity: 1.0,
            passes,
        };
        Findings {
            checker,
            checks: Tally::of(checks),
            disagreed,
            count: 0,
        }
    }

    fn judge(sensitivity: f64, specificity: f64) -> Judge {
        Judge::new(sensitivity, specificity, JudgeCounts::default())
    }

    #[test]
    fn corrects_for_the_errors_of_a_judge() {
        // (0.25 + 0.9 - 1) / (0.8 + 0.9 - 1) = 0.15 / 0.7
        let share = wrong_share(&[(&findings(false, 100.0, 25.0), judge(0.8, 0.9))], 1e9).unwrap();
        assert!((share.value - 0.15 / 0.7).abs() < 1e-12);
        let wilson = wilson(25.0, 100.0).unwrap().interval;
        assert!((share.interval.low - (wilson.low - 0.1) / 0.7).abs() < 1e-9);
        assert!((share.interval.high - (wilson.high - 0.1) / 0.7).abs() < 1e-9);
    }

    #[test]
    fn audits_estimate_wrong_positives() {
        // The judge passes 0.75 of the positives, so (0.75 + 0.9 - 1) / 0.7 of them are right and
        // the rest wrong.
        let share = wrong_share(&[(&findings(true, 100.0, 25.0), judge(0.8, 0.9))], 1e9).unwrap();
        assert!((share.value - (1.0 - 0.65 / 0.7)).abs() < 1e-12);
    }

    #[test]
    fn a_judge_that_is_better_than_declared_leaves_the_share_uncertain() {
        // None of 2,872 audited positives was rejected, although a judge with s = 0.9 rejects a
        // tenth of the right answers. With s = 1, up to 0.001336 / 0.98 of them are wrong.
        let share = wrong_share(&[(&findings(true, 2_872.0, 0.0), judge(0.9, 0.98))], 1e9).unwrap();
        assert!(
            (share.interval.high - 0.001_336 / 0.98).abs() < 1e-5,
            "{share:?}"
        );
        // None of 100 appealed negatives was passed, although a judge with c = 0.9 passes a tenth
        // of the wrong answers. With c = 1, up to 0.036995 / 0.8 of them are right.
        let share = wrong_share(&[(&findings(false, 100.0, 0.0), judge(0.8, 0.9))], 1e9).unwrap();
        assert!(
            (share.interval.high - 0.036_995 / 0.8).abs() < 1e-5,
            "{share:?}"
        );
    }

    #[test]
    fn checking_every_item_leaves_no_sampling_error() {
        let share = wrong_share(&[(&findings(false, 100.0, 25.0), Judge::PERFECT)], 100.0).unwrap();
        assert!((share.value - 0.25).abs() < 1e-12 && share.interval.half() < 1e-3);
    }

    #[test]
    fn checkers_are_weighted_by_checks_and_squared_youden_index() {
        // 100 perfect checks weigh 100, 100 checks at s + c - 1 = 0.7 weigh 49: (0.2 * 100 + 0.15 /
        // 0.7 * 49) / 149.
        let (operator, other) = (findings(false, 100.0, 20.0), findings(false, 100.0, 25.0));
        let share = wrong_share(
            &[(&operator, Judge::PERFECT), (&other, judge(0.8, 0.9))],
            1e9,
        )
        .unwrap();
        assert!((share.value - (20.0 + 0.15 / 0.7 * 49.0) / 149.0).abs() < 1e-12);
    }

    #[test]
    fn ignores_a_judge_without_information() {
        assert_eq!(
            wrong_share(&[(&findings(false, 100.0, 50.0), judge(0.5, 0.5))], 1e9),
            None
        );
        assert_eq!(wrong_share(&[], 1e9), None);
    }

    #[test]
    fn adjudicated_items_update_the_declared_accuracy_of_a_judge() {
        // (0.9 * 20 + 70) / (20 + 100) = 0.7333 of the right answers passed; no wrong answer was
        // adjudicated.
        let truths = JudgeCounts {
            right: 100,
            right_passed: 70,
            wrong: 0,
            wrong_rejected: 0,
        };
        let judge = Judge::new(0.9, 0.98, truths);
        assert!(
            (judge.sensitivity.value - 88.0 / 120.0).abs() < 1e-12
                && judge.sensitivity.interval.half() > 0.05
        );
        assert_eq!(judge.specificity, Estimate::known(0.98));
    }

    #[test]
    fn precision_of_overturned_verdicts_follows_bayes_rule() {
        // f = 0.2: 0.18 right against 0.8 * 0.02 = 0.016 wrong.
        let judge = judge(0.9, 0.98);
        let precision = precision_of_overturned_negative(&judge, Some(0.2)).unwrap();
        assert!((precision - 0.18 / 0.196).abs() < 1e-12);
        // e = 0.2: 0.196 wrong against 0.8 * 0.1 = 0.08 right.
        let precision = precision_of_overturned_positive(&judge, Some(0.2)).unwrap();
        assert!((precision - 0.196 / 0.276).abs() < 1e-12);
        assert_eq!(precision_of_overturned_negative(&judge, None), None);
        assert_eq!(
            precision_of_overturned_negative(&Judge::PERFECT, None),
            Some(1.0)
        );
    }
}
