//! What is known of one channel, as corrections use it and operators see it.

use std::collections::BTreeMap;

use assay_core::channel::Truths;
use serde::Serialize;

use crate::Rates;
use crate::interval::{Estimate, Interval};

use super::checks::{Judge, precision_of_overturned_negative, precision_of_overturned_positive};
use super::drift::Drift;
use super::persistence::Persistence;

/// Lower bound of J from which on scores may be corrected: dividing by less buys unbiasedness with
/// too much variance, and a J whose sign is not sure could turn learning around.
pub const LEAST_J: f64 = 0.2;

/// Checks of a side from which on a judge may be trusted to overturn.
const CHECKS_TO_OVERTURN: u64 = 20;

/// Where a rate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Appeals, audits and adjudications.
    Measured,
    /// Labelled data.
    Calibrated,
    /// The configuration or the policy.
    Declared,
}

/// One rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// The rate with its interval.
    pub estimate: Estimate,
    /// The same, drawn towards the grader's other channels by what they weigh: what corrections
    /// use.
    pub shrunk: f64,
    /// Where it comes from.
    pub source: Source,
}

/// A channel after verdicts of judges that have the last word.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct After {
    /// Its rates.
    pub rates: Rates,
    /// 1 - rho0 - rho1.
    pub j: Estimate,
}

/// Why scores of a channel are not corrected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Uncorrected {
    /// A rate is not known.
    #[error("{missing} not known: {remedy}")]
    Unknown {
        /// `rho0`, `rho1` or both, and the verb.
        missing: &'static str,
        /// What would tell.
        remedy: &'static str,
    },
    /// The interval of J holds 0.
    #[error(
        "the interval of J starts at {low:.3} and holds 0, so the sign of a correction is not sure"
    )]
    TouchesZero {
        /// Lower bound of J.
        low: f64,
    },
    /// J may be too small.
    #[error(
        "the interval of J starts at {low:.3}, not above {LEAST_J}: a correction would cost more \
         variance than it is worth"
    )]
    TooSmall {
        /// Lower bound of J.
        low: f64,
    },
}

/// What is known of one channel under one version of its grader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Grader and task family.
    pub channel: String,
    /// Version of the grader.
    pub version: u32,
    /// Items graded with a notion of pass, and what became of them.
    pub graded: Counts,
    /// Checks of negatives, then of positives.
    pub checks: [u64; 2],
    /// Share of items that are right.
    pub right: Option<f64>,
    /// False-positive rate.
    pub rho0: Option<Rate>,
    /// False-negative rate.
    pub rho1: Option<Rate>,
    /// 1 - rho0 - rho1.
    pub j: Option<Estimate>,
    /// The same after appeals and audits whose judges have the last word; `None` without any.
    pub after: Option<After>,
    /// Did it change?
    pub drift: Drift,
    /// Does the same answer always get the same verdict?
    pub persistence: Persistence,
    /// Why its scores are not corrected; `None` when they may be.
    pub uncorrected: Option<Uncorrected>,
    /// Share of negatives that are right, then of positives that are wrong.
    #[serde(skip)]
    pub(super) wrong: [Option<f64>; 2],
    /// What operators found of judges, by judge and side.
    #[serde(skip)]
    pub(super) judges: BTreeMap<(String, bool), Truths>,
}

/// [`Graded`](assay_core::channel::Graded), to be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Not passed.
    pub negatives: u64,
    /// Passed.
    pub positives: u64,
    /// Negatives that became passes.
    pub overturned_negatives: u64,
    /// Positives that are passes no more.
    pub overturned_positives: u64,
}

/// How many verdicts of one side a judge decides.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bound<'a> {
    /// Whether the verdicts are passes.
    pub passes: bool,
    /// Share of them, in \[0, 1\].
    pub share: f64,
    /// The judge: name, sensitivity and specificity as the policy says them.
    pub judge: Option<(&'a str, f64, f64)>,
}

impl After {
    /// The channel after a share of its negatives, and one of its positives, was decided by judges;
    /// `None` when nothing was.
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
            // No verdict is both: one that an appeal overturned is not audited, so the changes add.
            Rates {
                rho0: (appealed.rho0 + audited.rho0 - before.rho0).clamp(0.0, 1.0),
                rho1: (appealed.rho1 + audited.rho1 - before.rho1).clamp(0.0, 1.0),
            }
        };
        let range = Interval {
            low: -1.0,
            high: 1.0,
        };
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
    /// Rates that corrections of this channel use: those after appeals where there are any. `None`
    /// when it is not to be corrected.
    #[must_use]
    pub fn usable(&self) -> Option<Rates> {
        if self.uncorrected.is_some() {
            return None;
        }
        self.rates()
    }

    /// The rates, whether they may be used or not.
    #[must_use]
    pub fn rates(&self) -> Option<Rates> {
        match self.after {
            Some(after) => Some(after.rates),
            None => Rates::new(self.rho0?.shrunk, self.rho1?.shrunk),
        }
    }

    /// J with its interval, after appeals where there are any.
    #[must_use]
    pub fn final_j(&self) -> Option<Estimate> {
        self.after.map_or(self.j, |after| Some(after.j))
    }

    /// J of the rates that corrections use, 1 - rho0 - rho1 of [`Report::rates`], with the interval
    /// of [`Report::final_j`] widened to hold it: drawing rates towards other channels moves J too.
    /// `None` where a rate is not known. Whether to correct is decided by `final_j`, which owes
    /// nothing to other channels.
    #[must_use]
    pub fn used_j(&self) -> Option<Estimate> {
        let (value, Interval { low, high }) = (self.rates()?.j(), self.final_j()?.interval);
        Some(Estimate {
            value,
            interval: Interval {
                low: low.min(value),
                high: high.max(value),
            },
        })
    }

    /// The channel as it is in one batch, where judges have the last word on these shares of its
    /// verdicts: negatives, then positives. What was decided in other batches says nothing of it.
    #[must_use]
    pub fn in_batch(mut self, bound: [Bound<'_>; 2]) -> Self {
        let [appeals, audits] = bound.map(|bound| {
            let judge = bound.judge.map(|(name, sensitivity, specificity)| {
                self.judge(name, sensitivity, specificity, bound.passes)
            });
            (bound.share, judge.unwrap_or(Judge::PERFECT))
        });
        self.after = self
            .rho0
            .zip(self.rho1)
            .and_then(|(rho0, rho1)| After::of(rho0, rho1, appeals, audits));
        self.uncorrected = self.refuse();
        self
    }

    /// Whether correction is refused, and why: the rates are not known, or the interval of J is not
    /// clear of 0.
    pub(super) fn refuse(&self) -> Option<Uncorrected> {
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
        (low <= LEAST_J).then_some(Uncorrected::TooSmall { low })
    }

    /// Whether a judge may overturn: the probability that an overturned verdict is right, of
    /// negatives or of positives.
    ///
    /// A judge that never errs in that direction is right whatever the channel is. Of any other it
    /// is known once 20 verdicts of that side were checked; `None` before.
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
