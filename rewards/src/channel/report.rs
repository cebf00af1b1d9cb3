//! The report of one channel: its rates and diagnostics, used by corrections and shown to
//! operators.

use std::collections::BTreeMap;

use crate::channel::counts::JudgeCounts;
use serde::Serialize;

use super::checks::{Judge, precision_of_overturned_negative, precision_of_overturned_positive};
use super::drift::Drift;
use super::persistence::Persistence;
use crate::Rates;
use crate::interval::{Estimate, Interval, wilson};

/// The lower bound of J must be above this value for scores to be corrected. Dividing by a smaller
/// J adds more variance than the correction is worth, and with a J of uncertain sign a correction
/// could reverse learning.
pub const MIN_J: f64 = 0.2;

/// Checks of a side that are needed before a fallible judge may overturn its verdicts.
const CHECKS_TO_OVERTURN: u64 = 20;

/// Source of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Measured by appeals, audits and adjudications.
    Measured,
    /// Calibrated on labelled data or by several verifiers.
    Calibrated,
    /// Declared in the configuration or in the policy.
    Declared,
}

/// One rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// The rate, in \[0, 1\], with its interval.
    pub estimate: Estimate,
    /// The rate shrunk towards the grader's other channels, in \[0, 1\]. Corrections use this
    /// value.
    pub shrunk: f64,
    /// Source of the rate.
    pub source: Source,
}

/// A channel after the verdicts of judges that overturn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct After {
    /// Rates after appeals and audits.
    pub rates: Rates,
    /// 1 - rho0 - rho1 of these rates, in \[-1, 1\].
    pub j: Estimate,
}

/// Reason why the scores of a channel are not corrected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Uncorrected {
    /// A rate is unknown.
    #[error("{missing} unknown; {remedy}")]
    Unknown {
        /// `rho0`, `rho1` or both, and the verb.
        missing: &'static str,
        /// How to make the rates known.
        remedy: &'static str,
    },
    /// The lower bound of J is not above 0.
    #[error("the lower bound of J is {low:.3}, so the sign of a correction is uncertain")]
    TouchesZero {
        /// Lower bound of J.
        low: f64,
    },
    /// The lower bound of J is above 0, but not above [`MIN_J`].
    #[error(
        "the lower bound of J is {low:.3}, not above {MIN_J}; a correction would add too much \
         variance"
    )]
    TooSmall {
        /// Lower bound of J.
        low: f64,
    },
}

/// Rates and diagnostics of one channel under one version of its grader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Grader and task family, such as `math/gsm-like`.
    pub channel: String,
    /// Version of the grader.
    pub version: u32,
    /// Counts of the items graded by graders with a notion of pass.
    pub graded: Counts,
    /// Number of checks of negatives, then of positives.
    pub checks: [u64; 2],
    /// Share of items that are right, in \[0, 1\].
    pub right: Option<f64>,
    /// False-positive rate.
    pub rho0: Option<Rate>,
    /// False-negative rate.
    pub rho1: Option<Rate>,
    /// 1 - rho0 - rho1, in \[-1, 1\].
    pub j: Option<Estimate>,
    /// Rates and J after appeals and audits whose judges overturn; `None` without any.
    pub after: Option<After>,
    /// Whether the channel changed.
    pub drift: Drift,
    /// How consistently the same answer gets the same verdict.
    pub persistence: Persistence,
    /// Why its scores are not corrected; `None` when they may be.
    pub uncorrected: Option<Uncorrected>,
    /// Share of negatives that are right, then of positives that are wrong, in \[0, 1\].
    #[serde(skip)]
    pub(super) wrong: [Option<f64>; 2],
    /// Share of positives that are wrong, in \[0, 1\], by checks of this side, or by those of the
    /// other one and a calibrated or declared rate. `None` without checks.
    #[serde(skip)]
    pub(super) wrong_passes: Option<Estimate>,
    /// Adjudicated verdicts of judges, by judge and side.
    #[serde(skip)]
    pub(super) judges: BTreeMap<(String, bool), JudgeCounts>,
}

/// The counts of [`Graded`](crate::channel::counts::Graded) that reports contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Items that did not pass.
    pub negatives: u64,
    /// Items that passed.
    pub positives: u64,
    /// Negatives overturned to a pass.
    pub overturned_negatives: u64,
    /// Positives overturned to no pass.
    pub overturned_positives: u64,
    /// Negatives and positives that no judge could have checked, because their policy has none for
    /// the channel. Rates that judges measured are about the other items.
    pub unjudged: u64,
}

/// The share of the verdicts of one side that a judge decides.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bound<'a> {
    /// Whether the side is that of passes.
    pub passes: bool,
    /// Share of its verdicts that the judge decides, in \[0, 1\].
    pub share: f64,
    /// The judge: name, and sensitivity and specificity as declared by the policy.
    pub judge: Option<(&'a str, f64, f64)>,
}

impl After {
    /// The channel after judges decided a share of its negatives and a share of its positives, each
    /// given with the judge. The changes of [`Rates::after_appeals`] and [`Rates::after_audits`]
    /// add up. `None` if both shares are 0.
    pub(super) fn of(
        rho0: Rate,
        rho1: Rate,
        appeals: (f64, Judge),
        audits: (f64, Judge),
    ) -> Option<Self> {
        if appeals.0 + audits.0 <= 0.0 {
            return None;
        }
        let map = |rho0: f64, rho1: f64| {
            let before = Rates::new(rho0, rho1).unwrap_or(Rates::CLEAN);
            let value = |judge: &Judge| (judge.sensitivity.value, judge.specificity.value);
            let ((s, c), (audit_s, audit_c)) = (value(&appeals.1), value(&audits.1));
            let appealed = before.after_appeals(appeals.0, s, c);
            let audited = before.after_audits(audits.0, audit_s, audit_c);
            // The changes add up because no verdict is subject to both: a negative overturned on
            // appeal is not audited.
            Rates {
                rho0: (appealed.rho0 + audited.rho0 - before.rho0).clamp(0.0, 1.0),
                rho1: (appealed.rho1 + audited.rho1 - before.rho1).clamp(0.0, 1.0),
            }
        };
        let range = Interval::new(-1.0, 1.0);
        let j = Estimate::combine([rho0.estimate, rho1.estimate], range, |[rho0, rho1]| {
            map(rho0, rho1).j()
        });
        Some(Self {
            rates: map(rho0.shrunk, rho1.shrunk),
            j,
        })
    }
}

impl Report {
    /// Rates to correct this channel with: those after appeals where there are any. `None` where
    /// the channel is not corrected.
    #[must_use]
    pub fn usable(&self) -> Option<Rates> {
        if self.uncorrected.is_some() {
            return None;
        }
        self.rates()
    }

    /// The rates of [`Report::usable`], also where the channel is not corrected. `None` where a
    /// rate is unknown.
    #[must_use]
    pub fn rates(&self) -> Option<Rates> {
        match self.after {
            Some(after) => Some(after.rates),
            None => Rates::new(self.rho0?.shrunk, self.rho1?.shrunk),
        }
    }

    /// Probability that a verdict that passes is right, in \[0, 1\], before appeals. With checks of
    /// the channel it is 1 - e, where e is the share of positives that are wrong. Without, it
    /// follows from the rates and the share t that passes: p (1 - rho1) / (p (1 - rho1) + (1 - p)
    /// rho0), where p = (t - rho0) / J of the items are right (Rogan and Gladen 1978). `None` where
    /// a rate is unknown, or nothing was graded.
    #[must_use]
    pub fn precision_of_passes(&self) -> Option<Estimate> {
        let (rho0, rho1) = (self.rho0?.estimate, self.rho1?.estimate);
        if let Some(wrong) = self.wrong_passes {
            return Some(Estimate::combine_shares([wrong], |[wrong]| 1.0 - wrong));
        }
        let Counts {
            negatives,
            positives,
            ..
        } = self.graded;
        let passing = wilson(positives as f64, (negatives + positives) as f64)?;
        let map = |[rho0, rho1, passing]: [f64; 3]| {
            let j = (1.0 - rho0 - rho1).max(f64::MIN_POSITIVE);
            let right = ((passing - rho0) / j).clamp(0.0, 1.0);
            let (true_passes, false_passes) = (right * (1.0 - rho1), (1.0 - right) * rho0);
            true_passes / (true_passes + false_passes).max(f64::MIN_POSITIVE)
        };
        Some(Estimate::combine_shares([rho0, rho1, passing], map))
    }

    /// J with its interval, after appeals where there are any.
    #[must_use]
    pub fn final_j(&self) -> Option<Estimate> {
        self.after.map_or(self.j, |after| Some(after.j))
    }

    /// J of the rates that corrections use, 1 - rho0 - rho1 of [`Report::rates`], with the interval
    /// of [`Report::final_j`] extended to contain it, because shrinking rates towards other
    /// channels changes J as well. `None` where a rate is unknown.
    ///
    /// Whether to correct depends on `final_j`, which does not use other channels.
    #[must_use]
    pub fn used_j(&self) -> Option<Estimate> {
        let (value, Interval { low, high }) = (self.rates()?.j(), self.final_j()?.interval);
        Some(Estimate {
            value,
            interval: Interval::new(low.min(value), high.max(value)),
        })
    }

    /// The report for one batch in which judges decide these shares of the channel's verdicts:
    /// negatives, then positives. Decisions of judges in other batches do not count.
    #[must_use]
    pub fn in_batch(mut self, judge_decided: [Bound<'_>; 2]) -> Self {
        let [appeals, audits] = judge_decided.map(|side| {
            let judge = side.judge.map(|(name, sensitivity, specificity)| {
                self.judge(name, sensitivity, specificity, side.passes)
            });
            (side.share, judge.unwrap_or(Judge::PERFECT))
        });
        self.after = self
            .rho0
            .zip(self.rho1)
            .and_then(|(rho0, rho1)| After::of(rho0, rho1, appeals, audits));
        self.uncorrected = self.reason_uncorrected();
        self
    }

    /// Why the channel must not be corrected: a rate is unknown, or the lower bound of J is not
    /// above [`MIN_J`]. `None` if it may be corrected.
    pub(super) fn reason_uncorrected(&self) -> Option<Uncorrected> {
        let missing = match (self.rho0, self.rho1) {
            (None, None) => Some((
                "`rho0` and `rho1` are",
                "appeal negatives and audit positives, or declare rates",
            )),
            (None, Some(_)) => Some(("`rho0` is", "audit positives, or declare rates")),
            (Some(_), None) => Some(("`rho1` is", "appeal negatives, or declare rates")),
            (Some(_), Some(_)) => None,
        };
        if let Some((missing, remedy)) = missing {
            return Some(Uncorrected::Unknown { missing, remedy });
        }
        let low = self.final_j()?.interval.low;
        if low <= 0.0 {
            return Some(Uncorrected::TouchesZero { low });
        }
        (low <= MIN_J).then_some(Uncorrected::TooSmall { low })
    }

    /// Probability, in \[0, 1\], that a verdict of this judge which overturns a negative (`passes`
    /// false) or a positive (`passes` true) is right.
    ///
    /// It is 1 for a judge that makes no errors in that direction. For any other judge it is `None`
    /// until 20 verdicts of that side were checked.
    #[must_use]
    pub fn precision(
        &self,
        judge: &str,
        sensitivity: f64,
        specificity: f64,
        passes: bool,
    ) -> Option<f64> {
        let judge = self.judge(judge, sensitivity, specificity, passes);
        let side = usize::from(passes);
        let share = self.wrong[side].filter(|_| self.checks[side] >= CHECKS_TO_OVERTURN);
        if passes {
            precision_of_overturned_positive(&judge, share)
        } else {
            precision_of_overturned_negative(&judge, share)
        }
    }

    fn judge(&self, judge: &str, sensitivity: f64, specificity: f64, passes: bool) -> Judge {
        let truths = self
            .judges
            .get(&(judge.to_owned(), passes))
            .copied()
            .unwrap_or_default();
        Judge::new(sensitivity, specificity, truths)
    }
}
