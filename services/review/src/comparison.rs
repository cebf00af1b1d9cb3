//! Compares two sets of grades: two runs, or two ranges of steps of one run. Attributes the
//! difference of the mean rewards to verdicts, channels, graders and truncation.
//!
//! The difference of two means is attributed to the parts of each topic. With the shares s and the
//! mean rewards m of a part in both sets, and M the mean of both sets, a part contributes
//! `(s_b - s_a) ((m_a + m_b) / 2 - M) + (s_a + s_b) / 2 (m_b - m_a)`. The contributions of the
//! parts of a topic sum to the difference (Kitagawa 1955, doi 10.1080/01621459.1955.10501299).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use assay_record::chart::{Counted, Number, Part, Sums, Topic};
use assay_record::prompt_changes::{PromptChanges, RunSteps};
use assay_record::{Record, RecordError};
use assay_rewards::interval::Z;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum number of prompts that a comparison lists.
pub const MAX_PROMPTS: u32 = 1_000;

/// Share of the rewards that must belong to prompts for errors by prompt.
const MIN_IN_PROMPTS: f64 = 0.9;

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
    /// Mean reward of `b` minus that of `a`; null if either has no reward.
    pub reward: Option<Difference>,
    /// Share of passes among graded items of `b` minus that of `a`; null if either has none.
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
    /// Of the graded items, passed.
    pub passed: u64,
    /// Number of completions that were cut at the length limit.
    pub truncated: u64,
    /// Number of rewards.
    pub rewards: u64,
    /// Mean reward; null without one.
    pub mean_reward: Option<f64>,
    /// Standard error of the mean reward, by prompt if prompts are known; null without a reward.
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

impl Difference {
    fn of(a: Mean, b: Mean) -> Self {
        let (value, half) = (b.mean - a.mean, Z * a.error.hypot(b.error));
        Self {
            value,
            low: value - half,
            high: value + half,
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
    reward: Option<Mean>,
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
    let prompts = record.prompt_changes(&sets.0, &sets.1, limit).await?;
    let (a, b) = (Set::read(record, a).await?, Set::read(record, b).await?);
    let difference = |(a, b): (Option<Mean>, Option<Mean>)| {
        let both = a.zip(b);
        both.map(|(a, b)| Difference::of(a, b))
    };
    Ok(Comparison {
        reward: difference((a.reward, b.reward)),
        pass: difference((a.pass(), b.pass())),
        bytes: difference((a.bytes(), b.bytes())),
        parts: parts(&a, &b),
        prompts,
        a: a.body(),
        b: b.body(),
    })
}

impl<'r> Set<'r> {
    async fn read(record: &Record, range: &'r RunRange) -> Result<Self, RecordError> {
        let counted = record.run_counts(&range.run, &range.steps()).await?;
        let rewards = counted.sums(Number::Reward);
        let mut reward = independent(&rewards);
        if let Some(Mean { mean, error }) = &mut reward {
            // Rollouts of one prompt are correlated, so their mean varies more than that of
            // independent ones: the error is that of sums by prompt.
            let spread = record.prompt_spread(&range.run_steps(), *mean).await?;
            if real(spread.rewards) >= MIN_IN_PROMPTS * real(rewards.count) {
                *error = error.max(spread.squares.sqrt() / real(spread.rewards));
            }
        }
        Ok(Self {
            range,
            counted,
            rewards,
            reward,
        })
    }

    fn outcome(&self, outcome: &str) -> u64 {
        self.counted.grades_of(Topic::Outcome, outcome)
    }

    fn pass(&self) -> Option<Mean> {
        let (graded, passed) = (real(self.outcome("graded")), self.passed());
        (graded > 0.0).then(|| {
            let mean = real(passed) / graded;
            // Where rewards vary more than passes because rollouts of a prompt are alike, so do
            // passes.
            let inflation = match (self.reward, independent(&self.rewards)) {
                (Some(by_prompt), Some(alone)) if alone.error > 0.0 => {
                    by_prompt.error / alone.error
                }
                _ => 1.0,
            };
            let error = inflation * (mean * (1.0 - mean) / graded).sqrt();
            Mean { mean, error }
        })
    }

    fn passed(&self) -> u64 {
        self.counted.grades_of(Topic::Pass, "pass")
    }

    fn bytes(&self) -> Option<Mean> {
        let mut sums = self.counted.sums(Number::PassedBytes);
        sums.add(&self.counted.sums(Number::OtherBytes));
        independent(&sums)
    }

    fn body(self) -> ComparedGrades {
        ComparedGrades {
            grades: self.counted.grades(),
            graded: self.outcome("graded"),
            ungradable: self.outcome("ungradable"),
            failed: self.outcome("failed"),
            passed: self.passed(),
            truncated: self.counted.grades_of(Topic::Truncated, "truncated"),
            rewards: self.rewards.count,
            mean_reward: self.reward.map(|reward| reward.mean),
            reward_error: self.reward.map(|reward| reward.error),
            mean_bytes: self.bytes().map(|bytes| bytes.mean),
            range: self.range.clone(),
        }
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
    let means = a.reward.zip(b.reward).map(|(a, b)| (a.mean, b.mean));
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
