//! From the counts of one channel to its report: which of several sources stands for each rate.
//!
//! Measured beats calibrated beats declared, once 30 verdicts of the side were checked; before, the
//! better known one stands. A side that nobody checked may still follow from the other side and a
//! rate that is known otherwise.

use assay_core::channel::Graded;

use crate::Rates;
use crate::interval::{Estimate, Interval, SHARES, wilson};

use super::checks::{Judge, wrong_share};
use super::drift::drift;
use super::estimate::{j_beside, measured, rate_beside, rates_of};
use super::ledger::{Collected, Settings};
use super::persistence::persistence;
use super::report::{After, Counts, Rate, Report, Source};
use super::window::{Bucket, Findings, Window};

/// Checks of a side from which on what was measured replaces what was calibrated or declared.
const ENOUGH_CHECKS: f64 = 30.0;

/// A channel whose sides are known and whose rates are not yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Half {
    channel: String,
    version: u32,
    collected: Collected,
    buckets: Vec<Bucket>,
    window: Window,
    /// Share of negatives that are right, then of positives that are wrong.
    wrong: [Option<Estimate>; 2],
    /// The same, not held within shares.
    uncut: [Option<Estimate>; 2],
    /// What the checks of each side are worth.
    checks: [f64; 2],
}

/// Wrong shares of each side over channels, each weighing its checks: the weighted sum, and the
/// weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pooled([(f64, f64); 2]);

impl Pooled {
    pub(super) fn add(&mut self, other: Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
    }

    /// The shares; `None` of a side without checks.
    pub(super) fn shares(self) -> [Option<f64>; 2] {
        self.0
            .map(|(sum, weight)| (weight > 0.0).then(|| sum / weight))
    }
}

/// A rate that does not come from checks.
type Told = (Estimate, Source);

impl Half {
    pub(super) fn new(
        channel: String,
        version: u32,
        mut collected: Collected,
        settings: &Settings,
    ) -> Self {
        let buckets: Vec<Bucket> = std::mem::take(&mut collected.buckets)
            .into_values()
            .collect();
        let window = Window::of(&buckets, settings.half_life);
        let side = |passes: bool| {
            let found: Vec<(&Findings, Judge)> = window
                .checkers
                .iter()
                .filter(|found| found.checker.passes == passes)
                .map(|found| (found, collected.judge(found)))
                .collect();
            let whole = if passes {
                window.positives
            } else {
                window.negatives
            }
            .effective();
            let checks: f64 = found
                .iter()
                .map(|(found, _)| found.checks.effective())
                .sum();
            (wrong_share(&found, whole), checks)
        };
        let [negatives, positives] = [side(false), side(true)];
        let (uncut, checks) = ([negatives.0, positives.0], [negatives.1, positives.1]);
        let wrong = uncut.map(|share: Option<Estimate>| share.map(|share| share.held(SHARES)));
        Self {
            channel,
            version,
            collected,
            buckets,
            window,
            wrong,
            uncut,
            checks,
        }
    }

    pub(super) fn channel(&self) -> &str {
        &self.channel
    }

    /// The grader and version whose channels lean on each other.
    pub(super) fn family(&self) -> (&str, u32) {
        (
            self.channel
                .split_once('/')
                .map_or(&self.channel[..], |(grader, _)| grader),
            self.version,
        )
    }

    /// What this channel adds to the wrong shares of its family.
    pub(super) fn pooled(&self) -> Pooled {
        let side = |side: usize| {
            let checks = self.checks[side];
            self.wrong[side].map_or((0.0, 0.0), |wrong| (wrong.value * checks, checks))
        };
        Pooled([side(0), side(1)])
    }

    pub(super) fn report(
        &self,
        priors: [Option<f64>; 2],
        declared: Option<Rates>,
        settings: &Settings,
    ) -> Report {
        let told = self.told(declared);
        let checked = [0, 1].map(|side| {
            let enough = self.checks[side] >= ENOUGH_CHECKS || told.is_none();
            self.wrong[side].filter(|_| enough)
        });
        let shares = self.filled(checked, told);
        let [f, e] = [0, 1].map(|side| checked[side].and(self.uncut[side]).or(shares[side]));
        let found = measured(&self.window, f, e);
        let shrunk = self.shrunk(checked, shares, priors, settings);

        // Without items on one side a rate is 0 or 1 whatever is drawn towards; and no rate is
        // drawn out of its own interval.
        let one_sided = self.window.negatives.sum <= 0.0 || self.window.positives.sum <= 0.0;
        let held = |estimate: Estimate, shrunk: f64| {
            if one_sided {
                estimate.value
            } else {
                shrunk
                    .max(estimate.interval.low)
                    .min(estimate.interval.high)
            }
        };
        let rate =
            |measured: Option<Estimate>, shrunk: f64, told: Option<Told>| match (measured, told) {
                (Some(estimate), _) => Some(Rate {
                    estimate,
                    shrunk: held(estimate, shrunk),
                    source: Source::Measured,
                }),
                (None, Some((estimate, source))) => Some(Rate {
                    estimate,
                    shrunk: estimate.value,
                    source,
                }),
                (None, None) => None,
            };
        // Beside a rate that is told, a side's checks say its rate without what follows of the
        // other side.
        let beside = |passes: bool, wrong: Estimate, other: fn([Told; 2]) -> Told| {
            told.map(|told| rate_beside(&self.window, passes, wrong, other(told).0))
        };
        let [measured_rho1, measured_rho0] = match checked {
            [Some(f), None] => [beside(false, f, |[rho0, _]| rho0).or(found.rho1), None],
            [None, Some(e)] => [None, beside(true, e, |[_, rho1]| rho1).or(found.rho0)],
            checked => [checked[0].and(found.rho1), checked[1].and(found.rho0)],
        };
        let rho0 = rate(measured_rho0, shrunk.rho0, told.map(|[rho0, _]| rho0));
        let rho1 = rate(measured_rho1, shrunk.rho1, told.map(|[_, rho1]| rho1));
        let j = match (checked, told) {
            ([Some(_), Some(_)], _) => found.j,
            ([Some(f), None], Some([(rho0, _), _])) => Some(j_beside(&self.window, false, f, rho0)),
            ([None, Some(e)], Some([_, (rho1, _)])) => Some(j_beside(&self.window, true, e, rho1)),
            _ => rho0.zip(rho1).map(|(a, b)| j(a.estimate, b.estimate)),
        };
        let noise = rho0
            .zip(rho1)
            .and_then(|(a, b)| Some((Rates::new(a.shrunk, b.shrunk)?, found.right?)));

        let graded = self
            .buckets
            .iter()
            .fold(Graded::default(), |mut sum, bucket| {
                sum.add(&bucket.graded);
                sum
            });
        let checks = [false, true].map(|passes| {
            let side = self
                .window
                .checkers
                .iter()
                .filter(|known| known.checker.passes == passes);
            side.map(|known| known.count).sum()
        });
        let mut report = Report {
            channel: self.channel.clone(),
            version: self.version,
            graded: Counts {
                negatives: graded.negatives,
                positives: graded.positives,
                overturned_negatives: graded.overturned_negatives,
                overturned_positives: graded.overturned_positives,
            },
            checks,
            right: found.right,
            rho0,
            rho1,
            j,
            after: self.after(rho0, rho1),
            drift: drift(&self.buckets),
            persistence: persistence(graded.repeats, graded.flips, noise),
            uncorrected: None,
            wrong: self.wrong.map(|share| share.map(|share| share.value)),
            judges: self.collected.judges.clone(),
        };
        report.uncorrected = report.refuse();
        report
    }

    /// Rates from labelled data, else those declared: false positives, then false negatives.
    fn told(&self, declared: Option<Rates>) -> Option<[Told; 2]> {
        let calibrated = self.collected.calibration.as_ref().and_then(|known| {
            let rho0 = wilson(known.wrong_passed, known.wrong)?;
            let rho1 = wilson(known.right_refused, known.right)?;
            Some([(rho0, Source::Calibrated), (rho1, Source::Calibrated)])
        });
        let declare = |rate: f64| (Estimate::known(rate), Source::Declared);
        calibrated.or_else(|| declared.map(|rates| [declare(rates.rho0), declare(rates.rho1)]))
    }

    /// The shares that were checked, and of a side that was not, what follows from the other and a
    /// rate that is known.
    fn filled(
        &self,
        checked: [Option<Estimate>; 2],
        told: Option<[Told; 2]>,
    ) -> [Option<Estimate>; 2] {
        let (n0, n1) = (self.window.negatives.sum, self.window.positives.sum);
        // rho = a / (a + b) with a = of * share of one side, b = the answers of the same truth on
        // the other.
        let follow = |(rho, _): Told, other: Estimate, of: f64, on_other: f64| {
            (of > 0.0).then(|| {
                let range = SHARES;
                Estimate::combine([rho, other], range, |[rho, other]| {
                    rho * on_other * (1.0 - other) / (of * (1.0 - rho).max(1e-9))
                })
            })
        };
        match (checked, told) {
            ([Some(f), None], Some([rho0, _])) => [Some(f), follow(rho0, f, n1, n0)],
            ([None, Some(e)], Some([_, rho1])) => [follow(rho1, e, n0, n1), Some(e)],
            (checked, _) => checked,
        }
    }

    /// Rates from shares that are drawn towards the grader's other channels.
    fn shrunk(
        &self,
        checked: [Option<Estimate>; 2],
        shares: [Option<Estimate>; 2],
        priors: [Option<f64>; 2],
        settings: &Settings,
    ) -> Rates {
        let share = |side: usize| match (checked[side], priors[side]) {
            (Some(own), Some(prior)) => {
                let (own_weight, prior_weight) = (self.checks[side], settings.prior_checks);
                (own.value * own_weight + prior * prior_weight) / (own_weight + prior_weight)
            }
            _ => shares[side].map_or(0.0, |share| share.value),
        };
        rates_of(
            self.window.negatives.sum,
            self.window.positives.sum,
            share(0),
            share(1),
        )
    }

    /// The channel after the judges that have the last word.
    fn after(&self, rho0: Option<Rate>, rho1: Option<Rate>) -> Option<After> {
        let bound = [
            (self.window.bound[0], self.window.negatives.sum),
            (self.window.bound[1], self.window.positives.sum),
        ];
        let [negatives, positives] = bound.map(|(bound, all)| {
            if all > 0.0 {
                (bound / all).min(1.0)
            } else {
                0.0
            }
        });
        let [appeals, audits] = [false, true].map(|passes| self.usual_judge(passes));
        After::of(rho0?, rho1?, (negatives, appeals), (positives, audits))
    }

    /// The judge, other than operators, with most checks of a side.
    fn usual_judge(&self, passes: bool) -> Judge {
        let of_side = self.window.checkers.iter().filter(|found| {
            found.checker.passes == passes && found.checker.judge != assay_core::channel::OPERATOR
        });
        let usual = of_side.max_by(|a, b| a.checks.sum.total_cmp(&b.checks.sum));
        usual.map_or(Judge::PERFECT, |found| self.collected.judge(found))
    }
}

impl Collected {
    fn judge(&self, found: &Findings) -> Judge {
        let checker = &found.checker;
        let truths = self
            .judges
            .get(&(checker.judge.clone(), checker.passes))
            .copied()
            .unwrap_or_default();
        Judge::new(checker.sensitivity, checker.specificity, truths)
    }
}

fn j(rho0: Estimate, rho1: Estimate) -> Estimate {
    Estimate::combine(
        [rho0, rho1],
        Interval {
            low: -1.0,
            high: 1.0,
        },
        |[rho0, rho1]| 1.0 - rho0 - rho1,
    )
}
