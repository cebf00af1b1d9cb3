//! The report of one channel from its counts: selects the source of each rate.
//!
//! A measured rate takes precedence over a calibrated one, and a calibrated one over a declared
//! one. A measured rate replaces the others once the checks of the side have an effective number of
//! at least 30, or if there is no other source. The wrong share of an unchecked side can follow
//! from the checked side and a calibrated or declared rate.

use crate::channel::counts::Graded;

use super::checks::{Judge, wrong_share};
use super::drift::drift;
use super::estimate::{j_given_other, measured, rate_given_other, rates_of};
use super::persistence::persistence;
use super::report::{After, Counts, Rate, Report, Source};
use super::settings::{CollectedCounts, Settings};
use super::window::{Bucket, Findings, Window};
use crate::Rates;
use crate::interval::{Estimate, Interval, SHARES, error_rate};

/// Effective number of checks of a side at which the measured rate replaces the calibrated or
/// declared one.
pub(super) const ENOUGH_CHECKS: f64 = 30.0;

/// A channel with the wrong shares of both sides, before its rates are resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChannelSides {
    channel: String,
    version: u32,
    pub(super) collected: CollectedCounts,
    pub(super) buckets: Vec<Bucket>,
    pub(super) window: Window,
    /// Share of negatives that are right, then of positives that are wrong, in \[0, 1\].
    pub(super) wrong: [Option<Estimate>; 2],
    /// The same shares, not clamped to \[0, 1\].
    unclamped: [Option<Estimate>; 2],
    /// Effective number of checks of each side.
    pub(super) checks: [f64; 2],
}

/// Of the negatives and of the positives of a window: the share that is wrong, not clamped to
/// \[0, 1\], and the effective number of checks.
pub(super) fn wrong_sides(
    window: &Window,
    collected: &CollectedCounts,
) -> [(Option<Estimate>, f64); 2] {
    [(false, window.negatives), (true, window.positives)].map(|(passes, verdicts)| {
        let found: Vec<(&Findings, Judge)> = window
            .checkers
            .iter()
            .filter(|found| found.checker.passes == passes)
            .map(|found| (found, collected.judge(found)))
            .collect();
        let checks: f64 = found
            .iter()
            .map(|(found, _)| found.checks.effective())
            .sum();
        (wrong_share(&found, verdicts.effective()), checks)
    })
}

/// Wrong shares of each side over several channels, weighted by checks: weighted sum and sum of
/// weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pooled([(f64, f64); 2]);

impl Pooled {
    pub(super) fn add(&mut self, other: Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
    }

    /// The mean shares; `None` for a side without checks.
    pub(super) fn shares(self) -> [Option<f64>; 2] {
        self.0
            .map(|(sum, weight)| (weight > 0.0).then(|| sum / weight))
    }
}

/// A calibrated or declared rate.
type ExternalRate = (Estimate, Source);

impl ChannelSides {
    pub(super) fn new(
        channel: String,
        version: u32,
        mut collected: CollectedCounts,
        settings: &Settings,
    ) -> Self {
        let buckets: Vec<Bucket> = std::mem::take(&mut collected.buckets)
            .into_values()
            .collect();
        let window = Window::of(&buckets, settings.half_life);
        let [negatives, positives] = wrong_sides(&window, &collected);
        let (unclamped, checks) = ([negatives.0, positives.0], [negatives.1, positives.1]);
        let wrong =
            unclamped.map(|share: Option<Estimate>| share.map(|share| share.clamped(SHARES)));
        Self {
            channel,
            version,
            collected,
            buckets,
            window,
            wrong,
            unclamped,
            checks,
        }
    }

    pub(super) fn channel(&self) -> &str {
        &self.channel
    }

    /// Grader and version. The rates of channels of one family are shrunk towards each other.
    pub(super) fn family(&self) -> (&str, u32) {
        (
            self.channel
                .split_once('/')
                .map_or(&self.channel[..], |(grader, _)| grader),
            self.version,
        )
    }

    /// The contribution of this channel to the wrong shares of its family.
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
        let external = self.external_rates(declared);
        let checked = [0, 1].map(|side| {
            let enough = self.checks[side] >= ENOUGH_CHECKS || external.is_none();
            self.wrong[side].filter(|_| enough)
        });
        let shares = self.complete_shares(checked, external);
        let [f, e] = [0, 1].map(|side| checked[side].and(self.unclamped[side]).or(shares[side]));
        let found = measured(&self.window, f, e);
        let shrunk = self.shrunk(checked, shares, priors, settings);

        // If one side has no items, every rate is 0 or 1 and is not shrunk. Shrinkage never moves a
        // rate out of its own interval.
        let one_sided = self.window.negatives.sum <= 0.0 || self.window.positives.sum <= 0.0;
        let limited = |estimate: Estimate, shrunk: f64| {
            if one_sided {
                estimate.value
            } else {
                shrunk
                    .max(estimate.interval.low)
                    .min(estimate.interval.high)
            }
        };
        let rate = |measured: Option<Estimate>, shrunk: f64, external: Option<ExternalRate>| match (
            measured, external,
        ) {
            (Some(estimate), _) => Some(Rate {
                estimate,
                shrunk: limited(estimate, shrunk),
                source: Source::Measured,
            }),
            (None, Some((estimate, source))) => Some(Rate {
                estimate,
                shrunk: estimate.value,
                source,
            }),
            (None, None) => None,
        };
        // If only one side was checked and the other rate is external, the rate of the checked side
        // follows from both directly, without the implied share of the unchecked side.
        let from_one_side =
            |passes: bool, wrong: Estimate, other: fn([ExternalRate; 2]) -> ExternalRate| {
                external.map(|rates| rate_given_other(&self.window, passes, wrong, other(rates).0))
            };
        let [measured_rho1, measured_rho0] = match checked {
            [Some(f), None] => [
                from_one_side(false, f, |[rho0, _]| rho0).or(found.rho1),
                None,
            ],
            [None, Some(e)] => [
                None,
                from_one_side(true, e, |[_, rho1]| rho1).or(found.rho0),
            ],
            checked => [checked[0].and(found.rho1), checked[1].and(found.rho0)],
        };
        let rho0 = rate(measured_rho0, shrunk.rho0, external.map(|[rho0, _]| rho0));
        let rho1 = rate(measured_rho1, shrunk.rho1, external.map(|[_, rho1]| rho1));
        let j = match (checked, external) {
            ([Some(_), Some(_)], _) => found.j,
            ([Some(f), None], Some([(rho0, _), _])) => {
                Some(j_given_other(&self.window, false, f, rho0))
            }
            ([None, Some(e)], Some([_, (rho1, _)])) => {
                Some(j_given_other(&self.window, true, e, rho1))
            }
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
                unjudged: graded.unjudged_negatives + graded.unjudged_positives,
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
            wrong_passes: shares[1],
            judges: self.collected.judges.clone(),
        };
        report.uncorrected = report.reason_uncorrected();
        report
    }

    /// Calibrated rates, or else declared ones: `rho0`, then `rho1`.
    fn external_rates(&self, declared: Option<Rates>) -> Option<[ExternalRate; 2]> {
        let calibrated = self.collected.calibration.as_ref().and_then(|known| {
            let rho0 = error_rate(known.wrong_passed, known.wrong)?;
            let rho1 = error_rate(known.right_rejected, known.right)?;
            Some([(rho0, Source::Calibrated), (rho1, Source::Calibrated)])
        });
        let declare = |rate: f64| (Estimate::known(rate), Source::Declared);
        calibrated.or_else(|| declared.map(|rates| [declare(rates.rho0), declare(rates.rho1)]))
    }

    /// The checked shares. The share of an unchecked side follows from the checked side and an
    /// external rate, if there are any.
    fn complete_shares(
        &self,
        checked: [Option<Estimate>; 2],
        external: Option<[ExternalRate; 2]>,
    ) -> [Option<Estimate>; 2] {
        let (n0, n1) = (self.window.negatives.sum, self.window.positives.sum);
        // rho = a / (a + b), where a = n * share of the unchecked side and b = n_checked * (1 -
        // checked) are the answers of one truth on the two sides; solved for the share.
        let implied = |(rho, _): ExternalRate, checked: Estimate, n: f64, n_checked: f64| {
            (n > 0.0).then(|| {
                Estimate::combine([rho, checked], SHARES, |[rho, checked]| {
                    rho * n_checked * (1.0 - checked) / (n * (1.0 - rho).max(1e-9))
                })
            })
        };
        match (checked, external) {
            ([Some(f), None], Some([rho0, _])) => [Some(f), implied(rho0, f, n1, n0)],
            ([None, Some(e)], Some([_, rho1])) => [implied(rho1, e, n0, n1), Some(e)],
            (checked, _) => checked,
        }
    }

    /// Rates from wrong shares shrunk towards the pooled shares of the family: each share is the
    /// mean of its own value, weighted by its checks, and the prior, weighted by `prior_checks`
    /// (own derivation).
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

    /// The channel after the verdicts of judges that overturn.
    fn after(&self, rho0: Option<Rate>, rho1: Option<Rate>) -> Option<After> {
        let judge_decided = [
            (self.window.judge_decided[0], self.window.negatives.sum),
            (self.window.judge_decided[1], self.window.positives.sum),
        ];
        let [negatives, positives] = judge_decided.map(|(decided, all)| {
            if all > 0.0 {
                (decided / all).min(1.0)
            } else {
                0.0
            }
        });
        let [appeals, audits] = [false, true].map(|passes| self.main_judge(passes));
        After::of(rho0?, rho1?, (negatives, appeals), (positives, audits))
    }

    /// The judge with the most checks of a side, operators excluded.
    fn main_judge(&self, passes: bool) -> Judge {
        let of_side = self.window.checkers.iter().filter(|found| {
            found.checker.passes == passes
                && found.checker.judge != crate::channel::counts::OPERATOR
        });
        let main = of_side.max_by(|a, b| a.checks.sum.total_cmp(&b.checks.sum));
        main.map_or(Judge::PERFECT, |found| self.collected.judge(found))
    }
}

impl CollectedCounts {
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
    Estimate::combine([rho0, rho1], Interval::new(-1.0, 1.0), |[rho0, rho1]| {
        1.0 - rho0 - rho1
    })
}
