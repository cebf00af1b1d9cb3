//! Counts from which the rates of a channel are estimated: graded items, checked items and the
//! results of the checks. Counts are only ever added, so replicas that share a record add to the
//! same sums.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sum;

/// Length of a time bucket in microseconds: ten minutes. Counts are kept per bucket so that old
/// ones can have less weight.
pub const BUCKET_US: i64 = 600_000_000;

/// The key of counts: a channel, the version of its grader, and a time bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Channel, as in `math/default`.
    pub channel: String,
    /// Version of the grader.
    pub version: u32,
    /// Time in units of [`BUCKET_US`] since the Unix epoch.
    pub bucket: i64,
}

impl Place {
    /// The key of the counts at this time, in microseconds since the Unix epoch.
    #[must_use]
    pub fn of(channel: &str, version: u32, time_us: i64) -> Self {
        Self {
            channel: channel.to_owned(),
            version,
            bucket: time_us.div_euclid(BUCKET_US),
        }
    }
}

/// Counts of graded items. Only verdicts with a notion of pass count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Graded {
    /// Items that did not pass.
    pub negatives: u64,
    /// Items that passed.
    pub positives: u64,
    /// Negatives with a binding verdict of a judge.
    pub bound_negatives: u64,
    /// Positives with a binding verdict of a judge.
    pub bound_positives: u64,
    /// Negatives that an appeal overturned.
    pub overturned_negatives: u64,
    /// Positives that an appeal overturned.
    pub overturned_positives: u64,
    /// Items whose task and completion occurred before in the same batch.
    pub repeats: u64,
    /// Repeated items with another verdict than the first one.
    pub flips: u64,
    /// Negatives that no judge could have checked, because their policy has none for the channel.
    pub unjudged_negatives: u64,
    /// Positives that no judge could have checked.
    pub unjudged_positives: u64,
}

impl Graded {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.negatives += other.negatives;
        self.positives += other.positives;
        self.bound_negatives += other.bound_negatives;
        self.bound_positives += other.bound_positives;
        self.overturned_negatives += other.overturned_negatives;
        self.overturned_positives += other.overturned_positives;
        self.repeats += other.repeats;
        self.flips += other.flips;
        self.unjudged_negatives += other.unjudged_negatives;
        self.unjudged_positives += other.unjudged_positives;
    }

    /// Number of items.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.negatives + self.positives
    }
}

/// A source of checks. Sensitivity and specificity are part of the key: a judge that is declared
/// with other values is another checker.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub struct Checker {
    /// `operator`, or grader and version of a judge.
    pub judge: String,
    /// Share of right answers that it passes, in \[0, 1\].
    pub sensitivity: f64,
    /// Share of wrong answers that it does not pass, in \[0, 1\].
    pub specificity: f64,
    /// Whether the checked verdicts were passes.
    pub passes: bool,
}

/// Name of operators as a checker. Their decisions are treated as the truth.
pub const OPERATOR: &str = "operator";

/// Counts of the checks by one checker.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Checked {
    /// Number of checks.
    pub checks: u64,
    /// Checks that disagreed with the grader. Below 0 if later decisions replace more disagreements
    /// than were counted here.
    pub disagreed: i64,
    /// Sum of 1/probability over the checks.
    pub weight: f64,
    /// Sum of the squares of 1/probability.
    pub squares: f64,
    /// Sum of 1/probability over the disagreements.
    pub disagreed_weight: f64,
}

impl Checked {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.checks += other.checks;
        self.disagreed += other.disagreed;
        sum::add(&mut self.weight, other.weight);
        sum::add(&mut self.squares, other.squares);
        sum::add(&mut self.disagreed_weight, other.disagreed_weight);
    }

    /// Adds one check that was chosen with this probability.
    pub fn push(&mut self, disagreed: bool, probability: f64) {
        let weight = 1.0 / probability;
        self.checks += 1;
        sum::add(&mut self.weight, weight);
        sum::add(&mut self.squares, sum::square(weight));
        if disagreed {
            self.disagreed += 1;
            sum::add(&mut self.disagreed_weight, weight);
        }
    }

    /// Reverses the result of a check that was already counted.
    pub fn reverse(&mut self, disagreed: bool, weight: f64) {
        let (sign, change) = if disagreed {
            (1, weight)
        } else {
            (-1, -weight)
        };
        self.disagreed += sign;
        sum::add(&mut self.disagreed_weight, change);
    }
}

/// Counts of the verdicts of a judge on items that an operator adjudicated too.
///
/// Single counts may be below 0 if later decisions replace earlier ones that were counted
/// elsewhere. The total is not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JudgeCounts {
    /// Number of right answers.
    pub right: i64,
    /// Right answers that the judge passed.
    pub right_passed: i64,
    /// Number of wrong answers.
    pub wrong: i64,
    /// Wrong answers that the judge did not pass.
    pub wrong_rejected: i64,
}

impl JudgeCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.right += other.right;
        self.right_passed += other.right_passed;
        self.wrong += other.wrong;
        self.wrong_rejected += other.wrong_rejected;
    }

    /// Counts a verdict `times` times; -1 removes it.
    pub fn count(&mut self, truth: bool, judged: bool, times: i64) {
        let right = if truth { times } else { 0 };
        let wrong = times - right;
        self.right += right;
        self.right_passed += if judged { right } else { 0 };
        self.wrong += wrong;
        self.wrong_rejected += if judged { 0 } else { wrong };
    }
}

/// The key of [`JudgeCounts`]: channel, version, judge, and whether the grader had passed the
/// items.
pub type JudgeKey = (String, u32, String, bool);

/// Counts of a channel from labelled data, from which its rates are estimated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The channel.
    pub channel: String,
    /// Version of its grader.
    pub version: u32,
    /// How the labels were obtained: `labels` or `dawid_skene`.
    pub method: String,
    /// Number of right answers.
    pub right: f64,
    /// Right answers that the grader did not pass.
    pub right_rejected: f64,
    /// Number of wrong answers.
    pub wrong: f64,
    /// Wrong answers that the grader passed.
    pub wrong_passed: f64,
    /// Time, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// All counts of some channels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChannelCounts {
    /// Counts of graded items, by channel, version and bucket.
    pub graded: BTreeMap<Place, Graded>,
    /// Counts of checks, by channel, version and bucket.
    pub checked: BTreeMap<Place, Vec<(Checker, Checked)>>,
    /// Counts of the verdicts of judges.
    pub truths: BTreeMap<JudgeKey, JudgeCounts>,
    /// The latest calibration of each channel and version.
    pub calibrations: BTreeMap<(String, u32), Calibration>,
}

impl ChannelCounts {
    /// Adds a calibration. Of several of one channel and version, the latest is kept.
    pub fn add_calibration(&mut self, calibration: &Calibration) {
        let key = (calibration.channel.clone(), calibration.version);
        let known = self
            .calibrations
            .entry(key)
            .or_insert_with(|| calibration.clone());
        if known.time_us <= calibration.time_us {
            known.clone_from(calibration);
        }
    }

    /// The counts of `checker` under `key`. They are created if they do not exist.
    pub fn checked_by(&mut self, key: Place, checker: Checker) -> &mut Checked {
        let list = self.checked.entry(key).or_default();
        // There are only a few checkers per key, so a linear search is fast enough.
        let at = list
            .iter()
            .position(|(known, _)| *known == checker)
            .unwrap_or_else(|| {
                list.push((checker, Checked::default()));
                list.len() - 1
            });
        &mut list[at].1
    }

    /// Adds other counts.
    pub fn add(&mut self, other: Self) {
        for (key, graded) in other.graded {
            self.graded.entry(key).or_default().add(&graded);
        }
        for (key, list) in other.checked {
            for (checker, checked) in list {
                self.checked_by(key.clone(), checker).add(&checked);
            }
        }
        for (key, truths) in other.truths {
            self.truths.entry(key).or_default().add(&truths);
        }
        for calibration in other.calibrations.into_values() {
            self.add_calibration(&calibration);
        }
    }
}
