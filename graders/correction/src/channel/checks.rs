//! From what checkers found to the share of a grader's verdicts that are wrong: weighted for how
//! items were chosen, and corrected for judges that err themselves.

use assay_core::channel::Truths;

use crate::interval::{Estimate, Interval, SHARES, wilson};

use super::window::{Findings, count};

/// Below this, sensitivity + specificity - 1 of a judge says too little: its findings are left out.
pub const LEAST_JUDGE: f64 = 0.1;

/// Where an estimate of a share may lie when a judge's errors were taken out of it.
const BEYOND: Interval = Interval {
    low: -1.0,
    high: 2.0,
};

/// How often a judge is right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judge {
    /// Share of right answers that it passes.
    pub sensitivity: Estimate,
    /// Share of wrong answers that it does not pass.
    pub specificity: Estimate,
}

/// What the policy says of a judge counts as much as this many items that an operator looked at
/// too.
const DECLARED_WORTH: f64 = 20.0;

impl Judge {
    /// A judge as its policy says it is, corrected by what operators found on items it had judged.
    ///
    /// Without findings the declared numbers are taken as they are. With them, each is the mean of
    /// both, the declared one counting as 20 items, and has the Wilson interval of as many items.
    #[must_use]
    pub fn new(sensitivity: f64, specificity: f64, truths: Truths) -> Self {
        let share = |declared: f64, hits: i64, n: i64| {
            if n <= 0 {
                return Estimate::known(declared);
            }
            let (hits, n) = (
                count(hits.clamp(0, n).unsigned_abs()),
                count(n.unsigned_abs()),
            );
            let items = DECLARED_WORTH + n;
            wilson(declared * DECLARED_WORTH + hits, items).unwrap_or(Estimate::known(declared))
        };
        Self {
            sensitivity: share(sensitivity, truths.right_passed, truths.right),
            specificity: share(specificity, truths.wrong_refused, truths.wrong),
        }
    }

    /// A judge that never errs: the operator.
    pub const PERFECT: Self = Self {
        sensitivity: Estimate {
            value: 1.0,
            interval: Interval {
                low: 1.0,
                high: 1.0,
            },
        },
        specificity: Estimate {
            value: 1.0,
            interval: Interval {
                low: 1.0,
                high: 1.0,
            },
        },
    };

    /// Sensitivity + specificity - 1: how much of the truth comes through.
    fn information(&self) -> f64 {
        self.sensitivity.value + self.specificity.value - 1.0
    }

    fn errs(&self) -> bool {
        self.sensitivity != Estimate::known(1.0) || self.specificity != Estimate::known(1.0)
    }

    /// Share of right answers among items of which the judge passes the share `passed` (Rogan and
    /// Gladen 1978, doi 10.1093/oxfordjournals.aje.a112510): (passed + c - 1) / (s + c - 1).
    ///
    /// By chance it can be a number that no share is, below 0 or above 1. Cut there, it would lose
    /// its chance to one side, and what is made of it with other estimates would be too sure; so it
    /// is left as it is, within \[-1, 2\].
    #[must_use]
    pub fn right_share(&self, passed: Estimate) -> Estimate {
        Estimate::combine(
            [passed, self.sensitivity, self.specificity],
            BEYOND,
            |[passed, s, c]| (passed + c - 1.0) / (s + c - 1.0).max(LEAST_JUDGE),
        )
    }
}

/// Share of the verdicts of one side that are wrong: of negatives that are right answers, or of
/// positives that are wrong ones.
///
/// `whole` is how many such verdicts the window is worth
/// ([`Tally::effective`](crate::Tally::effective)): of a sample that is a large part of them, less
/// is left to chance. Several checkers are put together, each weighing its checks times the square
/// of what it tells. `None` without a check.
///
/// A judge that errs can leave it below 0 or above 1 ([`Judge::right_share`]); held within shares
/// it is the estimate.
#[must_use]
pub fn wrong_share(findings: &[(&Findings, Judge)], whole: f64) -> Option<Estimate> {
    let parts: Vec<(Estimate, f64)> = findings
        .iter()
        .filter_map(|(found, judge)| one(found, judge, whole))
        .collect();
    pooled(&parts)
}

/// Wrong share by one checker, and its weight beside others.
fn one(found: &Findings, judge: &Judge, whole: f64) -> Option<(Estimate, f64)> {
    let information = judge.information();
    let checks = found.checks.effective();
    if information < LEAST_JUDGE || checks <= 0.0 {
        return None;
    }
    let disagreed = (found.disagreed / found.checks.sum).clamp(0.0, 1.0);
    // Chance in choosing items ends when all are chosen; a judge's own chance does not.
    let chosen = (checks / whole.max(1.0)).min(1.0);
    let worth = if judge.errs() {
        checks
    } else {
        checks / (1.0 - chosen).max(1e-9)
    };
    let disagreed = wilson(disagreed * worth, worth)?;
    let wrong = if found.checker.passes {
        // The judge refuses what the grader passed.
        let passed = Estimate::combine([disagreed], SHARES, |[refused]| 1.0 - refused);
        Estimate::combine([judge.right_share(passed)], BEYOND, |[right]| 1.0 - right)
    } else {
        judge.right_share(disagreed)
    };
    Some((wrong, checks * information * information))
}

fn pooled(parts: &[(Estimate, f64)]) -> Option<Estimate> {
    let total: f64 = parts.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return None;
    }
    let value: f64 = parts
        .iter()
        .map(|(part, weight)| part.value * weight)
        .sum::<f64>()
        / total;
    let reach = |bound: fn(&Estimate) -> f64| {
        parts
            .iter()
            .map(|(part, weight)| ((bound(part) - part.value) * weight / total).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let interval = Interval {
        low: value - reach(|part| part.interval.low),
        high: value + reach(|part| part.interval.high),
    };
    Some(Estimate { value, interval })
}

/// Probability that a negative which the judge passes is right: f s / (f s + (1 - f)(1 - c)), f
/// being the share of negatives that are right. A judge that never passes a wrong answer is always
/// right about it, whatever f is.
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

/// Probability that a positive which the judge refuses is wrong: e c / (e c + (1 - e)(1 - s)), e
/// being the share of positives that are wrong.
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

fn precision(hit: f64, other: f64, share: Option<f64>) -> Option<f64> {
    if hit > 0.0 && other >= 1.0 {
        return Some(1.0);
    }
    let share = share?;
    let (right, wrong) = (share * hit, (1.0 - share) * (1.0 - other));
    (right + wrong > 0.0).then(|| right / (right + wrong))
}

#[cfg(test)]
mod tests {
    use assay_core::channel::Checker;

    use super::*;
    use crate::Tally;

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
        Judge::new(sensitivity, specificity, Truths::default())
    }

    #[test]
    fn a_judge_that_errs_is_corrected_for() {
        // (0.25 + 0.9 - 1) / (0.8 + 0.9 - 1) = 0.15 / 0.7
        let share = wrong_share(&[(&findings(false, 100.0, 25.0), judge(0.8, 0.9))], 1e9).unwrap();
        assert!((share.value - 0.15 / 0.7).abs() < 1e-12);
        let wilson = wilson(25.0, 100.0).unwrap().interval;
        assert!((share.interval.low - (wilson.low - 0.1) / 0.7).abs() < 1e-9);
        assert!((share.interval.high - (wilson.high - 0.1) / 0.7).abs() < 1e-9);
    }

    #[test]
    fn an_audit_is_the_mirror_image() {
        // The judge passes 0.75 of the positives: right are (0.75 + 0.9 - 1) / 0.7, the rest is
        // wrong.
        let share = wrong_share(&[(&findings(true, 100.0, 25.0), judge(0.8, 0.9))], 1e9).unwrap();
        assert!((share.value - (1.0 - 0.65 / 0.7)).abs() < 1e-12);
    }

    #[test]
    fn when_all_are_checked_nothing_is_left_to_chance() {
        let share = wrong_share(&[(&findings(false, 100.0, 25.0), Judge::PERFECT)], 100.0).unwrap();
        assert!((share.value - 0.25).abs() < 1e-12 && share.interval.half() < 1e-3);
    }

    #[test]
    fn two_checkers_weigh_by_what_they_tell() {
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
    fn a_judge_that_guesses_says_nothing() {
        assert_eq!(
            wrong_share(&[(&findings(false, 100.0, 50.0), judge(0.5, 0.5))], 1e9),
            None
        );
        assert_eq!(wrong_share(&[], 1e9), None);
    }

    #[test]
    fn what_operators_found_of_a_judge_moves_it() {
        // (0.9 * 20 + 70) / (20 + 100) = 0.7333 passed of the right ones; none of the wrong ones
        // was looked at.
        let truths = Truths {
            right: 100,
            right_passed: 70,
            wrong: 0,
            wrong_refused: 0,
        };
        let judge = Judge::new(0.9, 0.98, truths);
        assert!(
            (judge.sensitivity.value - 88.0 / 120.0).abs() < 1e-12
                && judge.sensitivity.interval.half() > 0.05
        );
        assert_eq!(judge.specificity, Estimate::known(0.98));
    }

    #[test]
    fn precision_of_an_overturned_verdict() {
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
