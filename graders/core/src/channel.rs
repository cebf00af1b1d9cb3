//! Counts behind the rates of a channel: what was graded, what was checked, and what the checks
//! found. Adding is all that is done to them, so replicas that share a record add to one sum.
//! Estimates are made of them elsewhere.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::check::DatasetCheck;
use crate::pair::CollectedPair;
use crate::record::GradeRecord;
use crate::sum;
use crate::{GradeId, Hash};

/// Counts are kept by buckets of time of this length, so that old ones can weigh less: ten
/// minutes, in microseconds.
pub const BUCKET_US: i64 = 600_000_000;

/// A second verifier's look at an item, chosen at random with a known probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Appeal {
    /// Who looked: grader and version.
    pub judge: String,
    /// Share of right answers that the judge passes, as the policy says.
    pub sensitivity: f64,
    /// Share of wrong answers that it does not pass, as the policy says.
    pub specificity: f64,
    /// Probability with which the item was chosen, in (0, 1].
    pub probability: f64,
    /// Verdict of the judge; `None` when it could not grade.
    pub verdict: Option<String>,
    /// Whether that verdict is a pass.
    pub pass: Option<bool>,
    /// Whether it is the grader's, pass or no pass.
    pub agreed: bool,
    /// Its score.
    pub score: Option<f64>,
    /// Whether the judge's verdict replaces the grader's wherever they differ.
    pub binding: bool,
    /// Whether it did here.
    pub overturned: bool,
    /// Why the judge could not grade, or why its verdict does not count.
    pub reason: Option<String>,
}

impl Appeal {
    /// Whether an item passed after all, of which the grader said `pass`: as its judge says where
    /// that has the last word.
    #[must_use]
    pub fn settled(appeal: Option<&Self>, pass: Option<bool>) -> Option<bool> {
        let overturned = appeal.is_some_and(|appeal| appeal.overturned);
        pass.map(|pass| pass != overturned)
    }

    /// What became of it, in a word: `overturned`, `upheld`, `disagreed` (the judge's word did not
    /// count) or `unjudged`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match (self.pass, self.overturned) {
            (None, _) => "unjudged",
            (Some(_), true) => "overturned",
            (Some(_), false) if self.agreed => "upheld",
            (Some(_), false) => "disagreed",
        }
    }
}

/// An operator's word on one grade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adjudication {
    /// Its own id, so that recorded twice it counts once.
    pub id: u128,
    /// The grade.
    pub grade: GradeId,
    /// Channel of the grade.
    pub channel: String,
    /// Version of its grader.
    pub version: u32,
    /// What the grader said.
    pub graded_pass: bool,
    /// What is true.
    pub pass: bool,
    /// What it counts beside other adjudications, because it was drawn at random; `None` when the
    /// operator chose it, which says nothing of others.
    pub weight: Option<f64>,
    /// The word it takes back, and when that was given: then it counts instead of it.
    pub corrects: Option<(bool, i64)>,
    /// What a judge had said of it: name and verdict.
    pub judged: Option<(String, bool)>,
    /// Who adjudicated.
    pub caller: String,
    /// Why.
    pub note: Option<String>,
    /// When, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// A grade drawn at random for an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// The grade.
    pub grade: GradeId,
    /// Its channel.
    pub channel: String,
    /// Probability with which it was drawn from the grades that fitted, in (0, 1].
    pub probability: f64,
    /// What it counts beside other draws: 1, because each side of a channel is drawn from evenly;
    /// over those that a judge had looked at, 1 over the probability with which that judge got it.
    pub weight: f64,
    /// When, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// Rates of a channel found on labelled data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Channel.
    pub channel: String,
    /// Version of its grader.
    pub version: u32,
    /// How the truth was known: `labels` or `dawid_skene`.
    pub method: String,
    /// Right answers.
    pub right: f64,
    /// Of those, not passed.
    pub right_refused: f64,
    /// Wrong answers.
    pub wrong: f64,
    /// Of those, passed.
    pub wrong_passed: f64,
    /// When, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// What happened beside grading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// An operator decided.
    Adjudicated(Adjudication),
    /// A grade was drawn for an operator.
    Drawn(Draw),
    /// A channel was calibrated.
    Calibrated(Calibration),
    /// A pair was collected for a reward model.
    Collected(CollectedPair),
    /// Datasets were checked.
    Checked(DatasetCheck),
}

/// Where counts belong: a channel, the version of its grader, and a bucket of time.
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
    fn of(channel: &str, version: u32, time_us: i64) -> Self {
        Self {
            channel: channel.to_owned(),
            version,
            bucket: time_us.div_euclid(BUCKET_US),
        }
    }
}

/// Items graded in one place. Only verdicts with a notion of pass count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Graded {
    /// Not passed.
    pub negatives: u64,
    /// Passed.
    pub positives: u64,
    /// Negatives whose judge had the last word.
    pub bound_negatives: u64,
    /// Positives whose judge had the last word.
    pub bound_positives: u64,
    /// Negatives that became passes.
    pub overturned_negatives: u64,
    /// Positives that are passes no more.
    pub overturned_positives: u64,
    /// Completions that stood in a batch before, with the same task.
    pub repeats: u64,
    /// Of those, given another verdict than the first time.
    pub flips: u64,
}

impl Graded {
    /// Adds another place's counts.
    pub fn add(&mut self, other: &Self) {
        self.negatives += other.negatives;
        self.positives += other.positives;
        self.bound_negatives += other.bound_negatives;
        self.bound_positives += other.bound_positives;
        self.overturned_negatives += other.overturned_negatives;
        self.overturned_positives += other.overturned_positives;
        self.repeats += other.repeats;
        self.flips += other.flips;
    }

    /// Items with a verdict.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.negatives + self.positives
    }
}

/// Who checked which verdicts. Sensitivity and specificity are parts of it: a judge declared anew
/// is another judge.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub struct Checker {
    /// `operator`, or grader and version of a judge.
    pub judge: String,
    /// Share of right answers that it passes.
    pub sensitivity: f64,
    /// Share of wrong answers that it does not pass.
    pub specificity: f64,
    /// Whether the checked verdicts were passes.
    pub passes: bool,
}

/// Name of operators among the judges. What they say is taken for the truth.
pub const OPERATOR: &str = "operator";

/// What one checker found in one place.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Checked {
    /// Checks.
    pub checks: u64,
    /// Of those, the judge disagreed with the grader; below 0 where later words take earlier ones
    /// back.
    pub disagreed: i64,
    /// Sum of 1/probability over the checks.
    pub weight: f64,
    /// Sum of its squares.
    pub squares: f64,
    /// Sum of 1/probability over the disagreements.
    pub disagreed_weight: f64,
}

impl Checked {
    /// Adds another place's counts.
    pub fn add(&mut self, other: &Self) {
        self.checks += other.checks;
        self.disagreed += other.disagreed;
        sum::add(&mut self.weight, other.weight);
        sum::add(&mut self.squares, other.squares);
        sum::add(&mut self.disagreed_weight, other.disagreed_weight);
    }

    fn push(&mut self, disagreed: bool, probability: f64) {
        let weight = 1.0 / probability;
        self.checks += 1;
        sum::add(&mut self.weight, weight);
        sum::add(&mut self.squares, sum::square(weight));
        if disagreed {
            self.disagreed += 1;
            sum::add(&mut self.disagreed_weight, weight);
        }
    }

    /// A check that was counted says the opposite now.
    fn turn(&mut self, disagreed: bool, weight: f64) {
        let (sign, change) = if disagreed {
            (1, weight)
        } else {
            (-1, -weight)
        };
        self.disagreed += sign;
        sum::add(&mut self.disagreed_weight, change);
    }
}

/// What an operator found of a judge, over items that both looked at.
///
/// A part of them may be below 0, where later words take back earlier ones; the sum is not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Truths {
    /// Right answers.
    pub right: i64,
    /// Of those, passed by the judge.
    pub right_passed: i64,
    /// Wrong answers.
    pub wrong: i64,
    /// Of those, not passed by the judge.
    pub wrong_refused: i64,
}

impl Truths {
    /// Adds other findings.
    pub fn add(&mut self, other: &Self) {
        self.right += other.right;
        self.right_passed += other.right_passed;
        self.wrong += other.wrong;
        self.wrong_refused += other.wrong_refused;
    }

    fn count(&mut self, truth: bool, judged: bool, times: i64) {
        let right = if truth { times } else { 0 };
        let wrong = times - right;
        self.right += right;
        self.right_passed += if judged { right } else { 0 };
        self.wrong += wrong;
        self.wrong_refused += if judged { 0 } else { wrong };
    }
}

/// Whom [`Truths`] speak of: channel, version, judge, and whether the verdicts it checked were
/// passes.
pub type TruthKey = (String, u32, String, bool);

/// Everything counted of some channels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChannelCounts {
    /// Items graded, by place.
    pub graded: BTreeMap<Place, Graded>,
    /// Checks, by place.
    pub checked: BTreeMap<Place, Vec<(Checker, Checked)>>,
    /// What is known of judges.
    pub truths: BTreeMap<TruthKey, Truths>,
    /// The latest calibration of each channel and version.
    pub calibrations: BTreeMap<(String, u32), Calibration>,
}

impl ChannelCounts {
    /// Adds the grades of one batch, or of a part of it.
    pub fn add_grades<'g>(&mut self, grades: impl IntoIterator<Item = &'g GradeRecord>) {
        let mut seen: HashMap<(Hash, Hash), bool> = HashMap::new();
        for grade in grades {
            let Some(pass) = grade.pass else { continue };
            let place = Place::of(&grade.channel, grade.grader_version, grade.time_us);
            let counts = self.graded.entry(place.clone()).or_default();
            if pass {
                counts.positives += 1;
            } else {
                counts.negatives += 1;
            }
            match seen.entry((grade.task_hash, grade.completion_hash)) {
                Entry::Vacant(first) => {
                    first.insert(pass);
                }
                Entry::Occupied(first) => {
                    counts.repeats += 1;
                    counts.flips += u64::from(*first.get() != pass);
                }
            }
            if let Some(appeal) = &grade.appeal
                && let Some(judged) = appeal.pass
            {
                let (bound, overturned) = (u64::from(appeal.binding), u64::from(appeal.overturned));
                if pass {
                    counts.bound_positives += bound;
                    counts.overturned_positives += overturned;
                } else {
                    counts.bound_negatives += bound;
                    counts.overturned_negatives += overturned;
                }
                let checker = Checker {
                    judge: appeal.judge.clone(),
                    sensitivity: appeal.sensitivity,
                    specificity: appeal.specificity,
                    passes: pass,
                };
                self.checked_by(place, checker)
                    .push(judged != pass, appeal.probability);
            }
        }
    }

    /// Adds an event.
    pub fn add_event(&mut self, event: &Event) {
        match event {
            Event::Drawn(_) | Event::Collected(_) | Event::Checked(_) => {}
            Event::Calibrated(calibration) => {
                let key = (calibration.channel.clone(), calibration.version);
                let known = self
                    .calibrations
                    .entry(key)
                    .or_insert_with(|| calibration.clone());
                if known.time_us <= calibration.time_us {
                    known.clone_from(calibration);
                }
            }
            Event::Adjudicated(adjudication) => self.add_adjudication(adjudication),
        }
    }

    fn add_adjudication(&mut self, adjudication: &Adjudication) {
        let Adjudication {
            channel,
            version,
            graded_pass,
            pass,
            ..
        } = adjudication;
        // Whoever picks a grade picks it for a reason: it says nothing of the others.
        let Some(weight) = adjudication.weight else {
            return;
        };
        // A word that is taken back is where it was counted.
        let time_us = adjudication
            .corrects
            .map_or(adjudication.time_us, |(_, time_us)| time_us);
        let checker = Checker {
            judge: OPERATOR.to_owned(),
            sensitivity: 1.0,
            specificity: 1.0,
            passes: *graded_pass,
        };
        let checked = self.checked_by(Place::of(channel, *version, time_us), checker);
        let disagreed = pass != graded_pass;
        match adjudication.corrects {
            None => checked.push(disagreed, 1.0 / weight),
            Some((before, _)) if before != *pass => checked.turn(disagreed, weight),
            Some(_) => {}
        }
        if let Some((judge, judged)) = &adjudication.judged {
            let truths = self
                .truths
                .entry((channel.clone(), *version, judge.clone(), *graded_pass))
                .or_default();
            if let Some((before, _)) = adjudication.corrects {
                truths.count(before, *judged, -1);
            }
            truths.count(*pass, *judged, 1);
        }
    }

    /// The counts of `checker` at `place`, there from now on.
    pub fn checked_by(&mut self, place: Place, checker: Checker) -> &mut Checked {
        let list = self.checked.entry(place).or_default();
        // A place has a handful of checkers at most.
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
        for (place, graded) in other.graded {
            self.graded.entry(place).or_default().add(&graded);
        }
        for (place, list) in other.checked {
            for (checker, checked) in list {
                self.checked_by(place.clone(), checker).add(&checked);
            }
        }
        for (key, truths) in other.truths {
            self.truths.entry(key).or_default().add(&truths);
        }
        for calibration in other.calibrations.into_values() {
            self.add_event(&Event::Calibrated(calibration));
        }
    }
}
