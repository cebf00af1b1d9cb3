//! What charts of a run are drawn from: numbers and words counted by step, small enough to be kept
//! for every step.
//!
//! A spread keeps a histogram with the sums that give mean and deviation exactly. Bins of rewards
//! are a tenth wide, those of times and lengths double: enough for a shape and a percentile, few
//! enough that a step is a handful of rows.

use std::collections::BTreeMap;

use crate::record::GradeRecord;
use crate::sum;

/// Bins of rewards stop at this many tenths on either side; what lies beyond is counted in the last
/// one.
pub const LAST_REWARD_BIN: i32 = 20;

/// A number that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Number {
    /// The reward; bin `n` holds those from n/10 up to (n + 1)/10.
    Reward,
    /// Time the grading took, in microseconds; bin `n` holds those of n bits, from 2^(n - 1) up to
    /// 2^n.
    GradeUs,
    /// Time spent waiting, in microseconds; bins as above.
    QueueUs,
    /// Length of completions that passed, in bytes; bins as above.
    PassedBytes,
    /// Length of completions that did not pass, or have no verdict, in bytes; bins as above.
    OtherBytes,
}

impl Number {
    /// Every number, in the order of the record's documentation.
    pub const ALL: &'static [Self] = &[
        Self::Reward,
        Self::GradeUs,
        Self::QueueUs,
        Self::PassedBytes,
        Self::OtherBytes,
    ];

    /// How the record writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reward => "reward",
            Self::GradeUs => "grade_us",
            Self::QueueUs => "queue_us",
            Self::PassedBytes => "passed_bytes",
            Self::OtherBytes => "other_bytes",
        }
    }

    /// Where its bin `bin` starts.
    #[must_use]
    pub fn bin_start(self, bin: i32) -> f64 {
        match self {
            Self::Reward => f64::from(bin) / 10.0,
            _ if bin <= 0 => 0.0,
            _ => 2f64.powi(bin - 1),
        }
    }
}

/// A word that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// `graded`, `ungradable` or `failed`.
    Outcome,
    /// Verdict of a graded item.
    Verdict,
    /// Name of the grader.
    Grader,
    /// `pass` where the verdict is one.
    Pass,
    /// Code of the error of an item without a score.
    Cause,
    /// `hit` where the outcome came from the result cache.
    Cache,
}

impl Topic {
    /// Every topic.
    pub const ALL: &'static [Self] = &[
        Self::Outcome,
        Self::Verdict,
        Self::Grader,
        Self::Pass,
        Self::Cause,
        Self::Cache,
    ];

    /// How the record writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Verdict => "verdict",
            Self::Grader => "grader",
            Self::Pass => "pass",
            Self::Cause => "cause",
            Self::Cache => "cache",
        }
    }
}

/// Sums over some numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

impl Sums {
    /// Adds one number.
    pub fn push(&mut self, number: f64) {
        self.add(&Self {
            count: 1,
            sum: number,
            squares: sum::square(number),
        });
    }

    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        sum::add(&mut self.sum, other.sum);
        sum::add(&mut self.squares, other.squares);
    }

    /// The mean; `None` of nothing.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        sum::mean(self.sum, self.count)
    }

    /// The standard deviation, of the numbers themselves and not of a larger population; `None` of
    /// nothing.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        sum::deviation(self.sum, self.squares, self.count)
    }
}

/// What is counted of the grades of one step, or of several.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// Histograms: sums by number and bin.
    pub numbers: BTreeMap<(Number, i32), Sums>,
    /// Grades by topic and word.
    pub words: BTreeMap<(Topic, String), u64>,
}

impl Counted {
    /// Counts a grade. `bytes` is the length of its completion, where that is known.
    pub fn push(&mut self, grade: &GradeRecord, bytes: Option<u32>) {
        if let Some(reward) = grade.reward {
            self.number(Number::Reward, reward_bin(reward), reward);
        }
        self.whole(Number::GradeUs, grade.grade_us);
        self.whole(Number::QueueUs, grade.queue_us);
        if let Some(bytes) = bytes {
            let number = if grade.pass == Some(true) {
                Number::PassedBytes
            } else {
                Number::OtherBytes
            };
            self.whole(number, bytes.into());
        }
        let cause = grade.error_json.as_deref().and_then(cause);
        let words = [
            (Topic::Outcome, Some(grade.outcome.as_str())),
            (Topic::Verdict, grade.verdict.as_deref()),
            (Topic::Grader, Some(grade.grader.as_str())),
            (Topic::Pass, (grade.pass == Some(true)).then_some("pass")),
            (Topic::Cause, cause.as_deref()),
            (Topic::Cache, grade.cached.then_some("hit")),
        ];
        for (topic, word) in words {
            if let Some(word) = word {
                self.word(topic, word, 1);
            }
        }
    }

    /// Adds grades that have a word.
    pub fn word(&mut self, topic: Topic, word: &str, grades: u64) {
        *self.words.entry((topic, word.to_owned())).or_default() += grades;
    }

    /// Grades by word of a topic.
    pub fn words_of(&self, topic: Topic) -> impl Iterator<Item = (&str, u64)> {
        let of_topic = self
            .words
            .range((topic, String::new())..)
            .take_while(move |((its, _), _)| *its == topic);
        of_topic.map(|((_, word), grades)| (word.as_str(), *grades))
    }

    /// All grades that were counted.
    #[must_use]
    pub fn grades(&self) -> u64 {
        self.words_of(Topic::Outcome)
            .map(|(_, grades)| grades)
            .sum()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "times and lengths of one item are far below 2^52"
    )]
    fn whole(&mut self, number: Number, value: u64) {
        let bin = i32::try_from(u64::BITS - value.leading_zeros()).unwrap_or(0);
        self.number(number, bin, value as f64);
    }

    fn number(&mut self, number: Number, bin: i32, value: f64) {
        self.numbers.entry((number, bin)).or_default().push(value);
    }

    /// Adds what was counted of other grades.
    pub fn add(&mut self, other: &Self) {
        for (key, sums) in &other.numbers {
            self.numbers.entry(*key).or_default().add(sums);
        }
        for (key, grades) in &other.words {
            *self.words.entry(key.clone()).or_default() += grades;
        }
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.words.is_empty()
    }

    /// The histogram of a number: bin and sums, lowest bin first.
    pub fn bins(&self, number: Number) -> impl Iterator<Item = (i32, &Sums)> {
        self.numbers
            .range((number, i32::MIN)..=(number, i32::MAX))
            .map(|((_, bin), sums)| (*bin, sums))
    }

    /// Sums over all bins of a number.
    #[must_use]
    pub fn sums(&self, number: Number) -> Sums {
        let mut all = Sums::default();
        self.bins(number).for_each(|(_, sums)| all.add(sums));
        all
    }

    /// The number below which `share` of all lie, read off the histogram as if its bins were filled
    /// evenly; `None` of nothing.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a run has less than 2^52 grades"
    )]
    pub fn quantile(&self, number: Number, share: f64) -> Option<f64> {
        let wanted = share * self.sums(number).count as f64;
        let mut before = 0.0;
        let mut end = None;
        for (bin, sums) in self.bins(number) {
            let (count, start, stop) = (
                sums.count as f64,
                number.bin_start(bin),
                number.bin_start(bin + 1),
            );
            if before + count >= wanted {
                return Some(start + (stop - start) * ((wanted - before) / count));
            }
            before += count;
            end = Some(stop);
        }
        end
    }
}

/// What is counted of a run, by the first step of each bucket of steps; `None` gathers what was
/// sent without a step.
pub type Steps = BTreeMap<Option<i64>, Counted>;

/// First step of the bucket of `width` steps that `step` lies in. Buckets start at multiples of
/// the width.
#[must_use]
pub fn bucket(step: i64, width: i64) -> i64 {
    step.saturating_sub(step.rem_euclid(width.max(1)))
}

fn reward_bin(reward: f64) -> i32 {
    let last = f64::from(LAST_REWARD_BIN);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to the bins there are"
    )]
    let bin = (reward * 10.0).floor().clamp(-last, last) as i32;
    bin
}

/// The code of an error as the record keeps it.
fn cause(error: &str) -> Option<String> {
    let error: serde_json::Value = serde_json::from_str(error).ok()?;
    Some(error.get("code")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Counted {
        let mut counted = Counted::default();
        values
            .iter()
            .for_each(|value| counted.number(Number::Reward, reward_bin(*value), *value));
        counted
    }

    #[test]
    fn bins_of_rewards_are_a_tenth_and_end() {
        let counted = of(&[-7.0, -0.05, 0.0, 0.09, 1.0, 1e300]);
        let bins: Vec<_> = counted
            .bins(Number::Reward)
            .map(|(bin, sums)| (bin, sums.count))
            .collect();
        assert_eq!(bins, [(-20, 1), (-1, 1), (0, 2), (10, 1), (20, 1)]);
    }

    #[test]
    fn mean_and_deviation_are_exact_and_parts_add_up() {
        let mut counted = of(&[0.0, 1.0]);
        counted.add(&of(&[1.0, 1.0]));
        let sums = counted.sums(Number::Reward);
        assert_eq!(
            (sums.count, sums.mean(), sums.deviation()),
            (4, Some(0.75), Some(0.1875f64.sqrt()))
        );
        assert_eq!(Sums::default().mean(), None);
    }

    #[test]
    fn a_quantile_lies_within_the_bin_of_the_number() {
        let mut counted = Counted::default();
        [100, 100, 100, 5_000]
            .iter()
            .for_each(|us| counted.whole(Number::GradeUs, *us));
        let half = counted.quantile(Number::GradeUs, 0.5).unwrap();
        assert!((64.0..128.0).contains(&half), "{half}");
        let most = counted.quantile(Number::GradeUs, 0.95).unwrap();
        assert!((4_096.0..=8_192.0).contains(&most), "{most}");
        assert_eq!(counted.quantile(Number::QueueUs, 0.5), None);
    }

    #[test]
    fn buckets_start_at_multiples_of_their_width() {
        let starts: Vec<_> = [-3, 0, 9, 10, 19]
            .into_iter()
            .map(|step| bucket(step, 10))
            .collect();
        assert_eq!(starts, [-10, 0, 0, 10, 10]);
        assert_eq!(bucket(i64::MIN + 1, 10), i64::MIN);
        assert_eq!(bucket(7, 0), 7);
    }

    #[test]
    fn a_cause_is_the_code_of_the_error() {
        assert_eq!(
            cause(r#"{"code":"too_long","message":"m"}"#).as_deref(),
            Some("too_long")
        );
        assert_eq!(cause("damaged"), None);
    }
}
