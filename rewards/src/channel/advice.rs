//! What to do next to know the error rates of a channel, with the number of checks that it takes.

use super::checks::{Judge, MIN_JUDGE_YOUDEN};
use super::counts::{Checker, OPERATOR};
use super::estimate::measured;
use super::report::{Report, Source};
use super::resolve::{ChannelSides, ENOUGH_CHECKS, wrong_sides};
use super::window::{Findings, count};
use crate::Tally;
use crate::interval::{Estimate, error_rate};

/// Half width of the interval of a rate that is narrow enough.
pub const TARGET_HALF_WIDTH: f64 = 0.05;

/// Share of the verdicts of a side that a judge may contradict, as far as its interval tells.
const CONTRADICTED_SHARE: f64 = 0.05;

/// Adjudicated verdicts of a judge below which its accuracy is mostly what its policy declares.
const ENOUGH_TRUTHS: u64 = 20;

/// Maximum number of checks that is proposed.
const MAX_CHECKS: u64 = 10_000;

/// Something to do next for a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// Look at the newest grades: the share of wrong verdicts of a side changed.
    Drifting,
    /// Look at the verdicts that a judge contradicted: it contradicts more than one in twenty, by
    /// the lower bound of its share.
    Contradicted {
        /// The judge, as in [`Checker::judge`].
        judge: String,
        /// Whether the verdicts are passes.
        passes: bool,
        /// Number of verdicts that it contradicted.
        disagreed: u64,
        /// Number of verdicts that it checked.
        checks: u64,
    },
    /// Check this many more verdicts of a side, for which fewer than 30 checks count: its rate is
    /// not measured.
    Measure {
        /// Whether the verdicts are passes, whose checks measure rho0, and otherwise rho1.
        passes: bool,
        /// Number of checks.
        checks: u64,
    },
    /// Check this many more verdicts of a side, to know its rate to ±[`TARGET_HALF_WIDTH`].
    Narrow {
        /// Whether the rate is rho0, and otherwise rho1.
        rho0: bool,
        /// Whether the verdicts are passes.
        passes: bool,
        /// Number of checks.
        checks: u64,
    },
    /// Check this many verdicts that a judge checked: its accuracy is mostly declared.
    MeasureJudge {
        /// The judge.
        judge: String,
        /// Number of checks.
        checks: u64,
    },
    /// Grade more items: no number of checks makes the interval of the rate narrow enough.
    GradeMore {
        /// Whether the rate is rho0, and otherwise rho1.
        rho0: bool,
    },
}

impl ChannelSides {
    /// What to do next, the most urgent first. Empty if both rates are known well enough.
    ///
    /// Numbers of checks come from the estimator of the rates itself: the smallest number of
    /// further checks by an operator, disagreeing as often as the checks so far, with which
    /// [`measured`] returns an interval of the wanted width (own derivation; for many items and
    /// one checked side it is about the number of
    /// [`appeals_needed`](super::estimate::appeals_needed)).
    pub(super) fn advice(&self, report: &Report) -> Vec<Advice> {
        let mut advice = Vec::new();
        if report.drift.drifting {
            advice.push(Advice::Drifting);
        }
        advice.extend(self.contradicted());
        let sides = [true, false].map(|passes| (passes, self.to_measure(report, passes)));
        advice.extend(sides.into_iter().filter_map(|(passes, checks)| {
            checks.map(|checks| Advice::Measure { passes, checks })
        }));
        let wide = [true, false].into_iter().filter(|rho0| {
            let rate = if *rho0 { report.rho0 } else { report.rho1 };
            let is_wide = rate.is_some_and(|rate| {
                rate.source == Source::Measured && rate.estimate.interval.half() > TARGET_HALF_WIDTH
            });
            is_wide && sides.iter().all(|(_, checks)| checks.is_none())
        });
        advice.extend(wide.map(|rho0| self.to_narrow(rho0)));
        advice.extend(self.unmeasured_judge());
        advice
    }

    /// The judges that contradict more than a share of a side.
    fn contradicted(&self) -> impl Iterator<Item = Advice> {
        let mut sums: Vec<(&str, bool, u64, u64)> = Vec::new();
        for (checker, checked) in self.buckets.iter().flat_map(|bucket| &bucket.checked) {
            if checker.judge == OPERATOR {
                continue;
            }
            let disagreed = u64::try_from(checked.disagreed).unwrap_or(0);
            let known = sums
                .iter_mut()
                .find(|(judge, passes, ..)| *judge == checker.judge && *passes == checker.passes);
            match known {
                Some(sum) => (sum.2, sum.3) = (sum.2 + disagreed, sum.3 + checked.checks),
                None => sums.push((&checker.judge, checker.passes, disagreed, checked.checks)),
            }
        }
        sums.into_iter()
            .filter_map(|(judge, passes, disagreed, checks)| {
                let share = error_rate(count(disagreed), count(checks))?;
                let is_frequent = share.interval.low > CONTRADICTED_SHARE;
                is_frequent.then(|| Advice::Contradicted {
                    judge: judge.to_owned(),
                    passes,
                    disagreed,
                    checks,
                })
            })
    }

    /// Checks that a side lacks until its rate is measured. `None` if it has enough, has no
    /// verdicts, or has a calibrated rate that is known well enough.
    fn to_measure(&self, report: &Report, passes: bool) -> Option<u64> {
        let rate = if passes { report.rho0 } else { report.rho1 };
        let is_calibrated = rate.is_some_and(|rate| {
            rate.source == Source::Calibrated && rate.estimate.interval.half() <= TARGET_HALF_WIDTH
        });
        let (checks, verdicts) = (self.checks[usize::from(passes)], self.verdicts(passes));
        if is_calibrated || checks >= ENOUGH_CHECKS {
            return None;
        }
        let missing = whole(ENOUGH_CHECKS - checks).min(verdicts);
        // All verdicts of a small channel may be checked.
        (missing > 0 && whole(checks) < verdicts).then_some(missing)
    }

    /// The verdicts of a side in the window.
    fn verdicts(&self, passes: bool) -> u64 {
        let side = if passes {
            self.window.positives
        } else {
            self.window.negatives
        };
        whole(side.effective())
    }

    /// The fewest checks that make the interval of a rate narrow enough: of the side that decides
    /// most of the rate, or of the other one.
    fn to_narrow(&self, rho0: bool) -> Advice {
        for passes in [rho0, !rho0] {
            let most = MAX_CHECKS.min(self.verdicts(passes));
            let is_enough = |more: u64| self.is_narrow_with(rho0, passes, more);
            if most == 0 || !is_enough(most) {
                continue;
            }
            let (mut too_few, mut enough) = (0, most);
            while enough - too_few > 1 {
                let middle = u64::midpoint(too_few, enough);
                if is_enough(middle) {
                    enough = middle;
                } else {
                    too_few = middle;
                }
            }
            return Advice::Narrow {
                rho0,
                passes,
                checks: enough,
            };
        }
        Advice::GradeMore { rho0 }
    }

    /// Whether the interval of a rate is narrow enough after `more` checks of a side that disagree
    /// as often as those so far.
    fn is_narrow_with(&self, rho0: bool, passes: bool, more: u64) -> bool {
        let side = usize::from(passes);
        let Some(wrong) = self.wrong[side] else {
            return false;
        };
        let mut window = self.window.clone();
        let is_operator = |checker: &Checker| checker.judge == OPERATOR && checker.passes == passes;
        let checkers = &mut window.checkers;
        let at = checkers
            .iter()
            .position(|known| is_operator(&known.checker))
            .unwrap_or_else(|| {
                checkers.push(Findings {
                    checker: Checker {
                        judge: OPERATOR.to_owned(),
                        sensitivity: 1.0,
                        specificity: 1.0,
                        passes,
                    },
                    checks: Tally::default(),
                    disagreed: 0.0,
                    count: 0,
                });
                checkers.len() - 1
            });
        let operator = &mut checkers[at];
        operator.checks.add(&Tally::of(count(more)), 1.0);
        operator.disagreed += wrong.value * count(more);
        let [negatives, positives] = wrong_sides(&window, &self.collected);
        let found = measured(&window, negatives.0, positives.0);
        let rate: Option<Estimate> = if rho0 { found.rho0 } else { found.rho1 };
        rate.is_some_and(|rate| rate.interval.half() <= TARGET_HALF_WIDTH)
    }

    /// The judge with the most checks whose accuracy is mostly declared.
    fn unmeasured_judge(&self) -> Option<Advice> {
        let judges = self.window.checkers.iter().filter(|found| {
            let checker = &found.checker;
            let judge = Judge::new(checker.sensitivity, checker.specificity, Default::default());
            checker.judge != OPERATOR
                && judge.is_fallible()
                && checker.sensitivity + checker.specificity - 1.0 >= MIN_JUDGE_YOUDEN
        });
        let main = judges.max_by_key(|found| found.count)?;
        let truths = self.collected.judges.iter();
        let adjudicated: i64 = truths
            .filter(|((judge, _), _)| *judge == main.checker.judge)
            .map(|(_, truths)| truths.right + truths.wrong)
            .sum();
        let missing = ENOUGH_TRUTHS.saturating_sub(u64::try_from(adjudicated).unwrap_or(0));
        (missing > 0).then(|| Advice::MeasureJudge {
            judge: main.checker.judge.clone(),
            checks: missing.min(main.count),
        })
    }
}

/// A number of items, rounded up.
fn whole(items: f64) -> u64 {
    // Saturates; counts are far below the limit.
    items.ceil().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::counts::{ChannelCounts, Checked, Graded, Place};
    use crate::channel::estimate::appeals_needed;
    use crate::channel::{Ledger, Settings};

    fn place() -> Place {
        Place {
            channel: "math/a".to_owned(),
            version: 1,
            bucket: 7,
        }
    }

    /// A channel with these negatives and positives, and checks of each side by a judge, as
    /// (number, disagreed).
    fn counts(graded: [u64; 2], judge: &str, s: f64, checks: [(u32, u32); 2]) -> ChannelCounts {
        let mut counts = ChannelCounts::default();
        let graded = Graded {
            negatives: graded[0],
            positives: graded[1],
            ..Graded::default()
        };
        counts.graded.insert(place(), graded);
        for (passes, (checks, disagreed)) in [false, true].into_iter().zip(checks) {
            let checker = Checker {
                judge: judge.to_owned(),
                sensitivity: s,
                specificity: 1.0,
                passes,
            };
            let weight = f64::from(checks);
            counts.checked_by(place(), checker).add(&Checked {
                checks: checks.into(),
                disagreed: disagreed.into(),
                weight,
                squares: weight,
                disagreed_weight: disagreed.into(),
            });
        }
        counts
    }

    fn advice(counts: ChannelCounts) -> Vec<Advice> {
        Ledger::new(counts, Settings::default()).advice("math/a", 1)
    }

    #[test]
    fn both_sides_are_measured_first() {
        let counts = counts([600, 12], OPERATOR, 1.0, [(10, 1), (0, 0)]);
        let measure = |passes, checks| Advice::Measure { passes, checks };
        assert_eq!(advice(counts), [measure(true, 12), measure(false, 20)]);
        assert_eq!(
            Ledger::default().advice("math/a", 1),
            [],
            "a channel without counts"
        );
    }

    #[test]
    fn proposed_checks_make_the_interval_narrow_enough() {
        let of = |checks: u32| {
            // A fifth of the checked negatives is right.
            let checked = [(checks, checks / 5), (400, 0)];
            counts([60_000, 40_000], OPERATOR, 1.0, checked)
        };
        let [
            Advice::Narrow {
                rho0: false,
                passes: false,
                checks,
            },
        ] = advice(of(40))[..]
        else {
            panic!("{:?}", advice(of(40)));
        };
        let report = |checks| Ledger::new(of(checks), Settings::default()).of("math/a", 1, None);
        let half = |checks| report(checks).rho1.unwrap().estimate.interval.half();
        let proposed = 40 + u32::try_from(checks).unwrap();
        // A fifth of that many is rounded down.
        assert!(half(proposed) <= TARGET_HALF_WIDTH + 1e-3, "{checks}");
        assert!(half(proposed * 9 / 10) > TARGET_HALF_WIDTH, "{checks}");
        assert_eq!(advice(of(2 * proposed)), []);
        // The formula for many items gives about as many.
        let (rho1, right) = (report(40).rho1.unwrap(), report(40).right.unwrap());
        let formula = appeals_needed(TARGET_HALF_WIDTH, 0.0, rho1.estimate.value, right);
        assert!(
            (f64::from(proposed) / formula - 1.0).abs() < 0.25,
            "{proposed} {formula}"
        );
    }

    #[test]
    fn few_items_cannot_be_known_by_checking_them() {
        // All 80 verdicts were checked.
        let all = counts([40, 40], OPERATOR, 1.0, [(40, 20), (40, 20)]);
        let more = |rho0| Advice::GradeMore { rho0 };
        assert_eq!(advice(all), [more(true), more(false)]);
    }

    #[test]
    fn judges_that_contradict_often_come_first() {
        let contradicted = |disagreed| {
            let checked = [(20, disagreed), (2_000, 0)];
            advice(counts([600, 40_000], "judge@1", 1.0, checked))
        };
        let first = Advice::Contradicted {
            judge: "judge@1".to_owned(),
            passes: false,
            disagreed: 4,
            checks: 20,
        };
        assert_eq!(contradicted(4)[0], first);
        assert!(
            !contradicted(1)
                .iter()
                .any(|advice| matches!(advice, Advice::Contradicted { .. }))
        );
    }

    #[test]
    fn a_fallible_judge_is_measured_by_operators() {
        let mut counts = counts(
            [60_000, 40_000],
            "judge@1",
            0.9,
            [(6_000, 300), (4_000, 40)],
        );
        let measure = |checks| Advice::MeasureJudge {
            judge: "judge@1".to_owned(),
            checks,
        };
        assert_eq!(advice(counts.clone()).last(), Some(&measure(20)));
        let key = ("math/a".to_owned(), 1, "judge@1".to_owned(), false);
        counts.truths.entry(key).or_default().right = 15;
        assert_eq!(advice(counts).last(), Some(&measure(5)));
    }
}
