//! Data for the charts of a run: numbers and labels counted by step, small enough to be stored for
//! every step.
//!
//! A number is stored as a histogram, with the sums that determine mean and deviation exactly. Bins
//! of rewards have a width of a tenth; each bin of times and lengths is twice as wide as the one
//! before. This is fine enough for a distribution and percentiles, and needs only a few rows per
//! step.

use std::collections::BTreeMap;

use assay_rewards::sum;

use crate::StoredGrade;
use crate::grade::TRUNCATED;

/// Rewards beyond this many tenths on either side are counted in the last bin.
pub const LAST_REWARD_BIN: i32 = 20;

/// A number that is stored as a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Number {
    /// The reward; bin `n` contains rewards from n/10 up to (n + 1)/10.
    Reward,
    /// Time of grading in microseconds; bin `n` contains numbers of n bits, from 2^(n - 1) up to
    /// 2^n.
    GradeUs,
    /// Time in the queue in microseconds; bins as above.
    QueueUs,
    /// Length in bytes of completions that passed after appeals; bins as above.
    PassedBytes,
    /// Length in bytes of completions that did not pass or have no verdict; bins as above.
    OtherBytes,
    /// Length in bytes of completions before the part that is graded; bins as above.
    ReasoningBytes,
}

impl Number {
    /// Every number, in the order of the documentation of the record.
    pub const ALL: &'static [Self] = &[
        Self::Reward,
        Self::GradeUs,
        Self::QueueUs,
        Self::PassedBytes,
        Self::OtherBytes,
        Self::ReasoningBytes,
    ];

    /// Name in the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reward => "reward",
            Self::GradeUs => "grade_us",
            Self::QueueUs => "queue_us",
            Self::PassedBytes => "passed_bytes",
            Self::OtherBytes => "other_bytes",
            Self::ReasoningBytes => "reasoning_bytes",
        }
    }

    /// Lower bound of a bin.
    #[must_use]
    pub fn bin_start(self, bin: i32) -> f64 {
        match self {
            Self::Reward => f64::from(bin) / 10.0,
            _ if bin <= 0 => 0.0,
            _ => 2f64.powi(bin - 1),
        }
    }
}

/// A property whose values are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// `graded`, `ungradable` or `failed`.
    Outcome,
    /// Verdict of a graded item.
    Verdict,
    /// Name of the grader.
    Grader,
    /// `pass` if the item passes after its appeal.
    Pass,
    /// Error code of an item without a score.
    Cause,
    /// `hit` if the outcome came from the result cache.
    Cache,
    /// Name of the channel.
    Channel,
    /// `truncated` if the completion was cut at the length limit.
    Truncated,
    /// Grader, channel, verdict or outcome, `truncated` or nothing, and error code or nothing,
    /// separated by [`SEPARATOR`]; see [`GradeKind`]. Earlier releases counted the first three.
    Kind,
    /// What detectors count; see [`signals`](crate::signals).
    Signal,
}

/// Separates the parts of a value of [`Topic::Kind`].
pub const SEPARATOR: char = '\u{1f}';

impl Topic {
    /// Every topic.
    pub const ALL: &'static [Self] = &[
        Self::Outcome,
        Self::Verdict,
        Self::Grader,
        Self::Pass,
        Self::Cause,
        Self::Cache,
        Self::Channel,
        Self::Truncated,
        Self::Kind,
        Self::Signal,
    ];

    /// Name in the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Verdict => "verdict",
            Self::Grader => "grader",
            Self::Pass => "pass",
            Self::Cause => "cause",
            Self::Cache => "cache",
            Self::Channel => "channel",
            Self::Truncated => "truncated",
            Self::Kind => "kind",
            Self::Signal => "signal",
        }
    }
}

/// What grades have in common that lists of grades are filtered by, a value of [`Topic::Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GradeKind<'k> {
    /// Name of the grader.
    pub grader: &'k str,
    /// Name of the channel.
    pub channel: &'k str,
    /// The verdict; `ungradable` or `failed` for items without one.
    pub result: &'k str,
    /// Whether the completion was cut at the length limit.
    pub truncated: bool,
    /// Code of the error of an item without a score.
    pub cause: Option<&'k str>,
}

impl<'k> GradeKind<'k> {
    /// The value of [`Topic::Kind`].
    #[must_use]
    pub fn word(&self) -> String {
        let truncated = if self.truncated { TRUNCATED } else { "" };
        let cause = self.cause.unwrap_or_default();
        let mut parts = vec![self.grader, self.channel, self.result, truncated, cause];
        // As earlier releases counted it, so that both are one row.
        while parts.len() > 3 && parts.last().is_some_and(|last| last.is_empty()) {
            parts.pop();
        }
        parts.join(SEPARATOR.encode_utf8(&mut [0; 4]))
    }

    /// Reads a value of [`Topic::Kind`]; `None` if it is not one.
    #[must_use]
    pub fn read(word: &'k str) -> Option<Self> {
        let mut parts = word.split(SEPARATOR);
        Some(Self {
            grader: parts.next()?,
            channel: parts.next()?,
            result: parts.next()?,
            truncated: parts.next() == Some(TRUNCATED),
            cause: parts.next().filter(|cause| !cause.is_empty()),
        })
    }
}

/// Sums over numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// Number of summands.
    pub count: u64,
    /// Sum.
    pub sum: f64,
    /// Sum of squares.
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

    /// The mean; `None` without a number.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        sum::mean(self.sum, self.count)
    }

    /// The population standard deviation; `None` without a number.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        sum::deviation(self.sum, self.squares, self.count)
    }

    /// The standard error of the mean, if the numbers are independent; `None` without a number.
    #[must_use]
    pub fn standard_error(&self) -> Option<f64> {
        Some(self.deviation()? / (self.count as f64).sqrt())
    }
}

/// The grades with one value of a topic.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Part {
    /// Number of grades.
    pub grades: u64,
    /// Sums over their rewards.
    pub rewards: Sums,
}

impl Part {
    /// Adds the grades of another part.
    pub fn add(&mut self, other: &Self) {
        self.grades += other.grades;
        self.rewards.add(&other.rewards);
    }
}

/// Counts over the grades of one step or several.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// Histograms: sums by number and bin.
    pub numbers: BTreeMap<(Number, i32), Sums>,
    /// Grades by topic and value.
    pub words: BTreeMap<(Topic, String), Part>,
}

impl Counted {
    /// Counts a grade. `bytes` is the length of its completion, if known.
    pub fn push(&mut self, stored: &StoredGrade, bytes: Option<u32>) {
        let passes = stored.grade.pass_after_appeal() == Some(true);
        let mut part = Part {
            grades: 1,
            ..Part::default()
        };
        if let Some(reward) = stored.grade.reward {
            self.number(Number::Reward, reward_bin(reward), reward);
            part.rewards.push(reward);
        }
        self.whole(Number::GradeUs, stored.grade.grade_us);
        self.whole(Number::QueueUs, stored.grade.queue_us);
        if let Some(bytes) = bytes {
            let number = if passes {
                Number::PassedBytes
            } else {
                Number::OtherBytes
            };
            self.whole(number, bytes.into());
        }
        let cause = stored.grade.error.as_ref().map(|error| error.code.as_str());
        let verdict = (stored.grade.verdict.as_deref()).unwrap_or(&stored.grade.outcome);
        let truncated = stored.grade.is_truncated();
        let kind = GradeKind {
            grader: &stored.grade.grader.name,
            channel: &stored.grade.channel,
            result: verdict,
            truncated,
            cause,
        };
        let kind = kind.word();
        let words = [
            (Topic::Outcome, Some(&*stored.grade.outcome)),
            (Topic::Verdict, stored.grade.verdict.as_deref()),
            (Topic::Grader, Some(&*stored.grade.grader.name)),
            (Topic::Pass, passes.then_some("pass")),
            (Topic::Cause, cause),
            (Topic::Cache, stored.grade.cached.then_some("hit")),
            (Topic::Channel, Some(&*stored.grade.channel)),
            (Topic::Truncated, truncated.then_some(TRUNCATED)),
            (Topic::Kind, Some(&*kind)),
        ];
        for (topic, word) in words {
            if let Some(word) = word {
                self.word(topic, word, &part);
            }
        }
    }

    /// Adds grades with this value of a topic.
    pub fn word(&mut self, topic: Topic, word: &str, part: &Part) {
        let words = self.words.entry((topic, word.to_owned()));
        words.or_default().add(part);
    }

    /// The grades by value of a topic.
    pub fn parts_of(&self, topic: Topic) -> impl Iterator<Item = (&str, &Part)> {
        let of_topic = self
            .words
            .range((topic, String::new())..)
            .take_while(move |((its, _), _)| *its == topic);
        of_topic.map(|((_, word), part)| (word.as_str(), part))
    }

    /// Number of grades by value of a topic.
    pub fn values_of(&self, topic: Topic) -> impl Iterator<Item = (&str, u64)> {
        self.parts_of(topic).map(|(word, part)| (word, part.grades))
    }

    /// Number of grades with this value of a topic.
    #[must_use]
    pub fn grades_of(&self, topic: Topic, word: &str) -> u64 {
        let part = self.words.get(&(topic, word.to_owned()));
        part.map_or(0, |part| part.grades)
    }

    /// Total number of grades.
    #[must_use]
    pub fn grades(&self) -> u64 {
        self.values_of(Topic::Outcome)
            .map(|(_, grades)| grades)
            .sum()
    }

    pub(crate) fn whole(&mut self, number: Number, value: u64) {
        let bin = i32::try_from(u64::BITS - value.leading_zeros()).unwrap_or(0);
        self.number(number, bin, value as f64);
    }

    fn number(&mut self, number: Number, bin: i32, value: f64) {
        self.numbers.entry((number, bin)).or_default().push(value);
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        for (key, sums) in &other.numbers {
            self.numbers.entry(*key).or_default().add(sums);
        }
        for (key, part) in &other.words {
            self.words.entry(key.clone()).or_default().add(part);
        }
    }

    /// Whether no grades were counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.words.is_empty()
    }

    /// The histogram of a number: bins with their sums, lowest bin first.
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

    /// The quantile of a number at `share`, in \[0, 1\], assuming that numbers are evenly
    /// distributed within a bin; `None` without a number.
    #[must_use]
    pub fn quantile(&self, number: Number, share: f64) -> Option<f64> {
        let rank = share * self.sums(number).count as f64;
        let mut before = 0.0;
        let mut end = None;
        for (bin, sums) in self.bins(number) {
            let (count, start, stop) = (
                sums.count as f64,
                number.bin_start(bin),
                number.bin_start(bin + 1),
            );
            if before + count >= rank {
                return Some(start + (stop - start) * ((rank - before) / count));
            }
            before += count;
            end = Some(stop);
        }
        end
    }
}

/// Counts of a run by the first step of each bucket of steps; `None` for grades without a step.
pub type Steps = BTreeMap<Option<i64>, Counted>;

/// First step of the bucket of `width` steps that contains `step`. Buckets start at multiples of
/// the width.
#[must_use]
pub fn bucket(step: i64, width: i64) -> i64 {
    step.saturating_sub(step.rem_euclid(width.max(1)))
}

fn reward_bin(reward: f64) -> i32 {
    let last = f64::from(LAST_REWARD_BIN);
    // Clamped to the range of the bins.
    (reward * 10.0).floor().clamp(-last, last) as i32
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
    fn bins_rewards_by_tenths_up_to_the_last_bin() {
        let counted = of(&[-7.0, -0.05, 0.0, 0.09, 1.0, 1e300]);
        let bins: Vec<_> = counted
            .bins(Number::Reward)
            .map(|(bin, sums)| (bin, sums.count))
            .collect();
        assert_eq!(bins, [(-20, 1), (-1, 1), (0, 2), (10, 1), (20, 1)]);
    }

    #[test]
    fn computes_exact_mean_and_deviation_of_added_counts() {
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
    fn estimates_quantiles_within_the_right_bin() {
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
    fn kinds_read_back() {
        let complete = GradeKind {
            grader: "math",
            channel: "math/default",
            result: "correct",
            truncated: false,
            cause: None,
        };
        let failed = GradeKind {
            result: "failed",
            cause: Some("grader_unavailable"),
            ..complete
        };
        let truncated = GradeKind {
            truncated: true,
            ..complete
        };
        for kind in [complete, failed, truncated] {
            assert_eq!(GradeKind::read(&kind.word()), Some(kind));
        }
        assert_eq!(complete.word(), "math\u{1f}math/default\u{1f}correct");
        assert_eq!(GradeKind::read("math"), None);
    }

    #[test]
    fn starts_buckets_at_multiples_of_their_width() {
        let starts: Vec<_> = [-3, 0, 9, 10, 19]
            .into_iter()
            .map(|step| bucket(step, 10))
            .collect();
        assert_eq!(starts, [-10, 0, 0, 10, 10]);
        assert_eq!(bucket(i64::MIN + 1, 10), i64::MIN);
        assert_eq!(bucket(7, 0), 7);
    }
}
