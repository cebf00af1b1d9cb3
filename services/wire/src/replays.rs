//! JSON types of replays: stored grades compared with new grades of the same items.

use std::collections::BTreeMap;

use assay_base::truncate::with_ellipsis;
use assay_core::Fault;
use assay_record::ItemGrade;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A stored grade compared with a new grade of the same item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReplayBody {
    /// Id of the grade.
    pub grade: String,
    /// Whether the outcome, verdict or score of the item, a check or a nested task differs. A
    /// service failure does not count as a difference.
    pub flipped: bool,
    /// Names of the checks and nested tasks that differ.
    #[serde(default)]
    pub changed_components: Vec<String>,
    /// The stored result.
    pub recorded: ReplaySide,
    /// The new result.
    pub replayed: ReplaySide,
    /// Evidence of the new grade; null in the results of jobs.
    #[schema(value_type = Option<Object>)]
    pub evidence: Value,
    /// Why the item has no new score; null if it has one.
    #[serde(default)]
    pub error: Option<Fault>,
}

/// One result of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReplaySide {
    /// Grader and version.
    pub grader: String,
    /// `graded`, `ungradable` or `failed`.
    pub outcome: String,
    /// Reason code, if graded.
    pub verdict: Option<String>,
    /// Correctness in \[0, 1\], if graded.
    pub score: Option<f64>,
}

impl From<&ItemGrade> for ReplaySide {
    fn from(grade: &ItemGrade) -> Self {
        Self {
            grader: grade.grader.to_string(),
            outcome: grade.outcome.to_string(),
            verdict: grade.verdict.as_ref().map(ToString::to_string),
            score: grade.score,
        }
    }
}

impl ReplaySide {
    /// The verdict of a graded item, otherwise the outcome.
    #[must_use]
    pub fn label(&self) -> &str {
        self.verdict.as_deref().unwrap_or(&self.outcome)
    }
}

/// A stored grade that could not be graded again, in the results of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MissingReplay {
    /// Id of the grade.
    pub grade: String,
    /// Why.
    pub error: Fault,
}

/// Verdicts of replays by stored verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplaySummary {
    /// Items that were graded again.
    pub items: u64,
    /// Of those, items whose outcome, verdict or score differs.
    pub flipped: u64,
    /// Their verdicts, by stored and current grader.
    pub graders: Vec<ReplayedGrader>,
    /// Numbers of items that were not graded again, by reason; those beyond 100 reasons are under
    /// `other reasons`.
    pub missing: BTreeMap<String, u64>,
}

/// Replays of the grades of one version of a grader by the current one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayedGrader {
    /// Grader and version of the stored grades.
    pub recorded: String,
    /// Grader and version of the new grades.
    pub replayed: String,
    /// Items that were graded again.
    pub items: u64,
    /// Of those, items whose outcome, verdict or score differs.
    pub flipped: u64,
    /// The number of items by stored and new verdict.
    pub verdicts: Vec<VerdictPair>,
}

/// Items with a stored and a new verdict; the outcome of items without one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerdictPair {
    /// The stored verdict.
    pub recorded: String,
    /// The new verdict.
    pub replayed: String,
    /// Number of items.
    pub items: u64,
}

/// Most reasons in [`ReplaySummary::missing`].
const MAX_REASONS: usize = 100;

/// Most bytes of a reason.
const MAX_REASON: usize = 300;

/// The outcome of items that the service failed to grade.
const FAILED: &str = "failed";

/// The outcome of graded items.
const GRADED: &str = "graded";

/// What follows the new verdict of items with another result of a check or a nested task.
const CHANGED_COMPONENTS: &str = ", other components";

/// Where items with further reasons are counted.
const OTHER_REASONS: &str = "other reasons";

impl ReplaySummary {
    /// Counts a replay; one that the service failed to grade is missing.
    pub fn add(&mut self, replay: &ReplayBody) {
        let (recorded, replayed) = (&replay.recorded, &replay.replayed);
        // A graded item has an error if a check failed.
        if let Some(error) = &replay.error
            && [FAILED, GRADED].contains(&&*replayed.outcome)
            && recorded.outcome != FAILED
        {
            self.add_missing(&format!("the service failed: {error}"), 1);
            return;
        }
        let mut label = replayed.label().to_owned();
        if !replay.changed_components.is_empty() {
            label += CHANGED_COMPONENTS;
        }
        self.add_pair(
            [&recorded.grader, &replayed.grader],
            [recorded.label(), &label],
            1,
        );
        self.add_flips(
            [&recorded.grader, &replayed.grader],
            u64::from(replay.flipped),
        );
    }

    /// Counts items that were not graded again.
    pub fn add_missing(&mut self, reason: &str, items: u64) {
        let mut reason = with_ellipsis(reason.to_owned(), MAX_REASON);
        if !self.missing.contains_key(&reason) && self.missing.len() >= MAX_REASONS {
            OTHER_REASONS.clone_into(&mut reason);
        }
        *self.missing.entry(reason).or_default() += items;
    }

    /// Adds the numbers of another summary.
    pub fn merge(&mut self, other: &Self) {
        for grader in &other.graders {
            let graders = [&*grader.recorded, &*grader.replayed];
            for pair in &grader.verdicts {
                self.add_pair(graders, [&pair.recorded, &pair.replayed], pair.items);
            }
            self.add_flips(graders, grader.flipped);
        }
        for (reason, items) in &other.missing {
            self.add_missing(reason, *items);
        }
    }

    fn add_pair(&mut self, graders: [&str; 2], [recorded, replayed]: [&str; 2], items: u64) {
        self.items += items;
        let grader = self.grader(graders);
        grader.items += items;
        let pairs = &mut grader.verdicts;
        let at = pairs
            .binary_search_by(|pair| (&*pair.recorded, &*pair.replayed).cmp(&(recorded, replayed)));
        let at = at.unwrap_or_else(|at| {
            let pair = VerdictPair {
                recorded: recorded.to_owned(),
                replayed: replayed.to_owned(),
                items: 0,
            };
            pairs.insert(at, pair);
            at
        });
        pairs[at].items += items;
    }

    fn add_flips(&mut self, graders: [&str; 2], flipped: u64) {
        self.flipped += flipped;
        self.grader(graders).flipped += flipped;
    }

    fn grader(&mut self, [recorded, replayed]: [&str; 2]) -> &mut ReplayedGrader {
        let graders = &mut self.graders;
        let at = graders.binary_search_by(|grader| {
            (&*grader.recorded, &*grader.replayed).cmp(&(recorded, replayed))
        });
        let at = at.unwrap_or_else(|at| {
            let grader = ReplayedGrader {
                recorded: recorded.to_owned(),
                replayed: replayed.to_owned(),
                ..ReplayedGrader::default()
            };
            graders.insert(at, grader);
            at
        });
        &mut graders[at]
    }
}

#[cfg(test)]
mod tests {
    use assay_core::ErrorCode;

    use super::*;

    fn replay(recorded: Option<&str>, replayed: Option<&str>) -> ReplayBody {
        let side = |verdict: Option<&str>| ReplaySide {
            grader: "math@1".to_owned(),
            outcome: if verdict.is_some() {
                "graded"
            } else {
                "failed"
            }
            .to_owned(),
            verdict: verdict.map(str::to_owned),
            score: None,
        };
        ReplayBody {
            grade: "g".to_owned(),
            flipped: recorded != replayed,
            changed_components: Vec::new(),
            recorded: side(recorded),
            replayed: side(replayed),
            evidence: Value::Null,
            error: None,
        }
    }

    fn summary(replays: &[(Option<&str>, Option<&str>)]) -> ReplaySummary {
        let mut summary = ReplaySummary::default();
        for (recorded, replayed) in replays {
            summary.add(&replay(*recorded, *replayed));
        }
        summary
    }

    #[test]
    fn merged_summaries_count_as_one() {
        let (correct, wrong) = (Some("correct"), Some("wrong_answer"));
        let all = [
            (correct, correct),
            (wrong, correct),
            (None, correct),
            (wrong, wrong),
        ];
        let whole = summary(&all);
        assert_eq!((whole.items, whole.flipped), (4, 2));
        let labels: Vec<_> = whole.graders[0]
            .verdicts
            .iter()
            .map(|pair| (&*pair.recorded, &*pair.replayed, pair.items))
            .collect();
        let expected = [
            ("correct", "correct", 1),
            ("failed", "correct", 1),
            ("wrong_answer", "correct", 1),
            ("wrong_answer", "wrong_answer", 1),
        ];
        assert_eq!(labels, expected);
        for at in 0..=all.len() {
            let mut merged = summary(&all[at..]);
            merged.merge(&summary(&all[..at]));
            assert_eq!(merged, whole, "divided at {at}");
        }
    }

    #[test]
    fn counts_service_failures_as_missing() {
        let mut failed = replay(Some("correct"), None);
        failed.error = Some(Fault::permanent(ErrorCode::GraderUnavailable, "no image"));
        let mut summary = ReplaySummary::default();
        summary.add(&failed);
        assert_eq!((summary.items, summary.flipped), (0, 0));
        let reason = "the service failed: grader_unavailable: no image";
        assert_eq!(summary.missing[reason], 1);
    }

    #[test]
    fn reasons_are_bounded_and_every_item_is_counted() {
        let mut summary = ReplaySummary::default();
        for n in 0..150 {
            summary.add_missing(&format!("reason {n}"), 2);
        }
        assert_eq!(summary.missing.len(), MAX_REASONS + 1);
        assert_eq!(summary.missing.values().sum::<u64>(), 300);
        assert_eq!(summary.missing[OTHER_REASONS], 100);
    }
}
