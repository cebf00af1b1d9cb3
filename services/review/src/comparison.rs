//! Compares two sets of grades: two runs, or two ranges of steps of one run. Attributes the
//! difference of the mean rewards to verdicts, channels, graders and truncation.
//!
//! The difference of two means is attributed to the parts of each topic. With the shares s and the
//! mean rewards m of a part in both sets, and M the mean of both sets, a part contributes
//! `(s_b - s_a) ((m_a + m_b) / 2 - M) + (s_a + s_b) / 2 (m_b - m_a)`. The contributions of the
//! parts of a topic sum to the difference (Kitagawa 1955, doi 10.1080/01621459.1955.10501299).
//!
//! Intervals have prompts as clusters, see [`assay_rewards::clustered`]: rollouts of one prompt are
//! correlated, and so are the means of two sets with the same prompts.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use assay_record::chart::{Counted, Number, Part, Sums, Topic};
use assay_record::prompt_changes::{
    PromptChanges, PromptComparison, PromptSquares, PromptSums, RunSteps, SetTotals,
};
use assay_record::{Record, RecordError};
use assay_rewards::clustered::{self, Total};
use assay_rewards::interval::{Estimate, Z};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum number of prompts that a comparison lists.
pub const MAX_PROMPTS: u32 = 1_000;

/// Grades to compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRange {
    /// Name of the run.
    pub run: String,
    /// First step; null without a limit. Grades without a step count only if both are null.
    pub from: Option<i64>,
    /// Last step; null without a limit.
    pub to: Option<i64>,
}

impl RunRange {
    fn steps(&self) -> RangeInclusive<i64> {
        // The smallest integer is the marker of grades without a step, which a range of steps
        // leaves out.
        let first = match (self.from, self.to) {
            (Some(from), _) => from.max(i64::MIN + 1),
            (None, Some(_)) => i64::MIN + 1,
            (None, None) => i64::MIN,
        };
        first..=self.to.unwrap_or(i64::MAX)
    }

    fn run_steps(&self) -> RunSteps<'_> {
        (&self.run, self.steps())
    }
}

/// The comparison of two sets of grades, `a` and `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = RunComparisonBody)]
pub struct Comparison {
    /// The first set.
    pub a: ComparedGrades,
    /// The second set.
    pub b: ComparedGrades,
    /// Mean reward of `b` minus that of `a`; null if either has no reward. The interval takes into
    /// account that rollouts of a prompt are correlated, also between the sets.
    pub reward: Option<Difference>,
    /// Share of passes after appeals among graded items of `b` minus that of `a`; null if either
    /// has none. The interval as for `reward`.
    pub pass: Option<Difference>,
    /// Mean length in bytes of completions of `b` minus that of `a`; null if either is unknown.
    pub bytes: Option<Difference>,
    /// The parts of both sets by topic, those that contribute most to the difference of the rewards
    /// first.
    pub parts: Vec<ComparedPart>,
    /// The prompts that both sets contain.
    pub prompts: PromptChanges,
}

/// Totals of one set of grades.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedGrades {
    /// Which grades these are.
    #[serde(flatten)]
    pub range: RunRange,
    /// Number of grades.
    pub grades: u64,
    /// Of those, graded.
    pub graded: u64,
    /// Of those, ungradable.
    pub ungradable: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Of the graded items, passed after appeals.
    pub passed: u64,
    /// Number of completions that were cut at the length limit.
    pub truncated: u64,
    /// Number of rewards.
    pub rewards: u64,
    /// Mean reward; null without one.
    pub mean_reward: Option<f64>,
    /// Standard error of the mean reward, with prompts as clusters; null without a reward.
    pub reward_error: Option<f64>,
    /// Mean length of the completions in bytes; null if unknown.
    pub mean_bytes: Option<f64>,
}

/// A difference of two means or shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = RunDifferenceBody)]
pub struct Difference {
    /// The value of `b` minus that of `a`.
    pub value: f64,
    /// Lower bound of its 95 % interval.
    pub low: f64,
    /// Upper bound of its 95 % interval.
    pub high: f64,
}

impl From<Estimate> for Difference {
    fn from(estimate: Estimate) -> Self {
        Self {
            value: estimate.value,
            low: estimate.interval.low,
            high: estimate.interval.high,
        }
    }
}

impl Difference {
    /// The difference of two means of independent numbers.
    fn of(a: Mean, b: Mean) -> Self {
        let (value, half) = (b.mean - a.mean, Z * a.error.hypot(b.error));
        Self {
            value,
            low: value - half,
            high: value + half,
        }
    }

    fn width(&self) -> f64 {
        self.high - self.low
    }

    /// A difference of shares, which is at most 1.
    fn of_shares(self) -> Self {
        Self {
            low: self.low.max(-1.0),
            high: self.high.min(1.0),
            ..self
        }
    }

    /// Whether the interval excludes 0.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The grades with one value of a topic in both sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedPart {
    /// `grader`, `channel`, `verdict`, `cause` or `truncated`.
    pub topic: String,
    /// The value: for `truncated`, `truncated` or `complete`.
    pub value: String,
    /// Its grades in the first set.
    pub a: PartBody,
    /// Its grades in the second set.
    pub b: PartBody,
    /// How much it contributes to the difference of the mean rewards; null for causes, whose items
    /// have no reward.
    pub contribution: Option<f64>,
}

/// The grades of a part in one set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PartBody {
    /// Number of grades.
    pub grades: u64,
    /// Their share of the grades of the set.
    pub share: f64,
    /// Their mean reward; null without one.
    pub mean_reward: Option<f64>,
}

/// A mean with its standard error.
#[derive(Clone, Copy)]
struct Mean {
    mean: f64,
    error: f64,
}

/// One set with what was counted of it.
struct Set<'r> {
    range: &'r RunRange,
    counted: Counted,
    rewards: Sums,
    prompts: PromptSums,
}

/// Compares two sets of grades, with at most `prompts` prompts that flipped.
///
/// # Errors
/// [`RecordError`] if the record cannot be read.
pub async fn compare(
    record: &Record,
    a: &RunRange,
    b: &RunRange,
    prompts: u32,
) -> Result<Comparison, RecordError> {
    let limit = prompts.min(MAX_PROMPTS);
    let sets = (a.run_steps(), b.run_steps());
    let (mut a, mut b) = (Set::read(record, a).await?, Set::read(record, b).await?);
    let totals = [Quantity::Reward, Quantity::Pass].map(|quantity| SetTotals {
        a: a.total(quantity),
        b: b.total(quantity),
    });
    let prompts = record.prompt_comparison(&sets.0, &sets.1, totals, limit);
    let PromptComparison {
        sums,
        squares,
        changes,
    } = prompts.await?;
    [a.prompts, b.prompts] = sums;
    let [reward, pass] = [(Quantity::Reward, 0), (Quantity::Pass, 1)]
        .map(|(quantity, at)| Error::of(quantity, [&a, &b], totals[at], squares[at]));
    Ok(Comparison {
        reward: reward.difference,
        pass: pass.difference.map(Difference::of_shares),
        bytes: (a.bytes().zip(b.bytes())).map(|(a, b)| Difference::of(a, b)),
        parts: parts(&a, &b),
        prompts: changes,
        a: a.body(reward.errors[0]),
        b: b.body(reward.errors[1]),
    })
}

/// Fewer clusters than this may have equal differences by chance.
const FEW_CLUSTERS: u64 = 10;

/// What is averaged over the rollouts of a set.
#[derive(Debug, Clone, Copy)]
enum Quantity {
    Reward,
    /// 1 for a graded item that passes after its appeal, otherwise 0.
    Pass,
}

/// The errors of the means of a quantity in both sets.
struct Error {
    /// Standard errors of the means.
    errors: [f64; 2],
    /// The difference with its interval; `None` if either set has none of the quantity.
    difference: Option<Difference>,
}

impl Error {
    /// From the sums of squares of the prompts. Rollouts without a prompt are clusters of their
    /// own. The differences of a few prompts may be equal by chance, so the wider interval counts
    /// then: the clustered one, or that of independent rollouts. Of fewer than two clusters only
    /// the latter is known.
    fn of(
        quantity: Quantity,
        sets: [&Set<'_>; 2],
        totals: SetTotals,
        squares: PromptSquares,
    ) -> Self {
        let totals = [totals.a, totals.b];
        let value = totals[1].mean().zip(totals[0].mean()).map(|(b, a)| b - a);
        let rest = sets.map(|set| set.rest(quantity));
        let clusters = [0, 1].map(|at| sets[at].prompts.prompts.saturating_add(rest[at].count));
        let fewest = clusters[0].min(clusters[1]);
        let alone = [0, 1].map(|at| sets[at].alone(quantity).squares_about(totals[at]));
        let independent = Self {
            errors: alone.map(f64::sqrt),
            difference: value
                .map(|value| clustered::estimate(value, alone[0] + alone[1], u64::MAX).into()),
        };
        if fewest < 2 {
            return independent;
        }
        let [a, b] = [0, 1].map(|at| rest[at].squares_about(totals[at]));
        let squares = [squares.a + a, squares.b + b, squares.difference + a + b];
        let clustered = Self {
            errors: [0, 1].map(|at| clustered::standard_error(squares[at], clusters[at])),
            difference: value.map(|value| clustered::estimate(value, squares[2], fewest).into()),
        };
        if fewest < FEW_CLUSTERS {
            clustered.or_wider(&independent)
        } else {
            clustered
        }
    }

    /// The larger errors of the two, and the wider interval.
    fn or_wider(self, other: &Self) -> Self {
        let difference = self.difference.zip(other.difference);
        Self {
            errors: [0, 1].map(|at| self.errors[at].max(other.errors[at])),
            difference: difference.map(|(a, b)| if b.width() > a.width() { b } else { a }),
        }
    }
}

/// Rollouts that are clusters of their own.
struct Alone {
    count: u64,
    sums: Sums,
}

impl Alone {
    /// The sum of squares of what they contribute to the error of the mean of a total.
    fn squares_about(&self, total: Total) -> f64 {
        let mean = total.mean().unwrap_or(0.0);
        let about_mean =
            self.sums.squares - 2.0 * mean * self.sums.sum + mean * mean * real(self.sums.count);
        about_mean.max(0.0) / total.count.max(1.0).powi(2)
    }
}

impl<'r> Set<'r> {
    /// Reads the counts of a set, without those of its prompts.
    async fn read(record: &Record, range: &'r RunRange) -> Result<Self, RecordError> {
        let counted = record.run_counts(&range.run, &range.steps()).await?;
        let rewards = counted.sums(Number::Reward);
        Ok(Self {
            range,
            counted,
            rewards,
            prompts: PromptSums::default(),
        })
    }

    fn outcome(&self, outcome: &str) -> u64 {
        self.counted.grades_of(Topic::Outcome, outcome)
    }

    fn passed(&self) -> u64 {
        self.counted.grades_of(Topic::Pass, "pass")
    }

    /// The sums of a quantity over all rollouts.
    fn sums(&self, quantity: Quantity) -> Sums {
        match quantity {
            Quantity::Reward => self.rewards,
            Quantity::Pass => zeros_and_ones(self.outcome("graded"), self.passed()),
        }
    }

    fn total(&self, quantity: Quantity) -> Total {
        let sums = self.sums(quantity);
        Total {
            count: real(sums.count),
            sum: sums.sum,
        }
    }

    /// All rollouts.
    fn alone(&self, quantity: Quantity) -> Alone {
        let sums = self.sums(quantity);
        Alone {
            count: sums.count,
            sums,
        }
    }

    /// The rollouts that belong to no prompt. For passes, also those without a verdict that is a
    /// pass or a fail, which do not pass.
    fn rest(&self, quantity: Quantity) -> Alone {
        let all = self.sums(quantity);
        let of_prompts = match quantity {
            Quantity::Reward => self.prompts.rewards,
            Quantity::Pass => zeros_and_ones(self.prompts.judged, self.prompts.passes),
        };
        let count = all.count.saturating_sub(of_prompts.count);
        // The sums of both are rounded differently.
        let sums = if count == 0 {
            Sums::default()
        } else {
            Sums {
                count,
                sum: all.sum - of_prompts.sum,
                squares: (all.squares - of_prompts.squares).max(0.0),
            }
        };
        Alone { count, sums }
    }

    fn bytes(&self) -> Option<Mean> {
        let mut sums = self.counted.sums(Number::PassedBytes);
        sums.add(&self.counted.sums(Number::OtherBytes));
        independent(&sums)
    }

    fn body(self, reward_error: f64) -> ComparedGrades {
        let mean_reward = self.rewards.mean();
        ComparedGrades {
            grades: self.counted.grades(),
            graded: self.outcome("graded"),
            ungradable: self.outcome("ungradable"),
            failed: self.outcome("failed"),
            passed: self.passed(),
            truncated: self.counted.grades_of(Topic::Truncated, "truncated"),
            rewards: self.rewards.count,
            mean_reward,
            reward_error: mean_reward.map(|_| reward_error),
            mean_bytes: self.bytes().map(|bytes| bytes.mean),
            range: self.range.clone(),
        }
    }
}

/// The sums of `count` numbers, of which `ones` are 1 and the others 0.
fn zeros_and_ones(count: u64, ones: u64) -> Sums {
    Sums {
        count,
        sum: real(ones),
        squares: real(ones),
    }
}

/// Topics whose parts are compared.
const TOPICS: [Topic; 5] = [
    Topic::Verdict,
    Topic::Channel,
    Topic::Grader,
    Topic::Truncated,
    Topic::Cause,
];

fn parts(a: &Set<'_>, b: &Set<'_>) -> Vec<ComparedPart> {
    let mut parts: Vec<ComparedPart> = (TOPICS.iter())
        .flat_map(|topic| topic_parts(*topic, a, b))
        .collect();
    let size = |part: &ComparedPart| part.contribution.unwrap_or(0.0).abs();
    parts.sort_by(|x, y| size(y).total_cmp(&size(x)));
    parts
}

fn topic_parts(topic: Topic, a: &Set<'_>, b: &Set<'_>) -> Vec<ComparedPart> {
    let mut values: BTreeMap<String, [Part; 2]> = BTreeMap::new();
    for (at, set) in [a, b].into_iter().enumerate() {
        for (value, part) in set.counted.parts_of(topic) {
            values.entry(value.to_owned()).or_default()[at] = *part;
        }
    }
    if topic == Topic::Truncated && !values.is_empty() {
        let cut = values.values().copied().next().unwrap_or_default();
        values.insert("complete".to_owned(), [rest(a, &cut[0]), rest(b, &cut[1])]);
    }
    let means = a.rewards.mean().zip(b.rewards.mean());
    let part = |(value, [in_a, in_b]): (String, [Part; 2])| ComparedPart {
        topic: topic.name().to_owned(),
        value,
        contribution: means
            .filter(|_| topic != Topic::Cause)
            .map(|means| contribution([(&in_a, a), (&in_b, b)], means)),
        a: PartBody::of(&in_a, a),
        b: PartBody::of(&in_b, b),
    };
    values.into_iter().map(part).collect()
}

/// The grades of a set that are not in a part.
fn rest(set: &Set<'_>, part: &Part) -> Part {
    let (all, cut) = (set.rewards, part.rewards);
    Part {
        grades: set.counted.grades().saturating_sub(part.grades),
        rewards: Sums {
            count: all.count.saturating_sub(cut.count),
            sum: all.sum - cut.sum,
            squares: (all.squares - cut.squares).max(0.0),
        },
    }
}

fn contribution([a, b]: [(&Part, &Set<'_>); 2], (mean_a, mean_b): (f64, f64)) -> f64 {
    let share =
        |(part, set): (&Part, &Set<'_>)| real(part.rewards.count) / real(set.rewards.count.max(1));
    let (share_a, share_b) = (share(a), share(b));
    // A part that one set lacks is taken to have the same mean there.
    let (part_a, part_b) = match (a.0.rewards.mean(), b.0.rewards.mean()) {
        (Some(a), Some(b)) => (a, b),
        (Some(one), None) | (None, Some(one)) => (one, one),
        (None, None) => return 0.0,
    };
    (share_b - share_a) * (f64::midpoint(part_a, part_b) - f64::midpoint(mean_a, mean_b))
        + f64::midpoint(share_a, share_b) * (part_b - part_a)
}

impl PartBody {
    fn of(part: &Part, set: &Set<'_>) -> Self {
        Self {
            grades: part.grades,
            share: real(part.grades) / real(set.counted.grades().max(1)),
            mean_reward: part.rewards.mean(),
        }
    }
}

/// The mean of numbers with its error, if they are independent.
fn independent(sums: &Sums) -> Option<Mean> {
    let (mean, error) = sums.mean().zip(sums.standard_error())?;
    Some(Mean { mean, error })
}

fn real(count: u64) -> f64 {
    count as f64
}
