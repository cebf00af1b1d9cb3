//! JSON types for training runs: the list, one run in detail, and its prompts.

use std::collections::{BTreeMap, BTreeSet};

pub use assay_record::RunSummary;
use assay_record::prompt_list::{PromptCounts, PromptSummary};
use assay_record::rollup::{RollupKey, Rollups, Totals};
pub use assay_record::run_notes::RunChanges;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of the recorded runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunsBody {
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// Value of `offset` for the next page; null on the last page.
    #[serde(default)]
    pub next: Option<u32>,
}

/// A page of the prompts of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromptsBody {
    /// Numbers of prompts in the range of steps, of any status.
    pub counts: PromptCounts,
    /// The prompts.
    pub prompts: Vec<PromptSummary>,
    /// Value of `offset` for the next page; null on the last page.
    pub next: Option<u32>,
}

/// One training run in detail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunDetail {
    /// Totals of the run.
    #[serde(flatten)]
    pub run: RunSummary,
    /// Totals by grader over all steps.
    pub graders: Vec<RunGraderBody>,
    /// Error codes of items without a score, over all steps, most frequent first.
    pub causes: Vec<CauseBody>,
    /// Totals by step and grader, highest step first.
    pub steps: Vec<RunStepBody>,
}

/// Totals of one grader in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunGraderBody {
    /// Grader and version.
    pub grader: String,
    /// Totals of its grades.
    #[serde(flatten)]
    pub sums: SumsBody,
    /// Number of grades by verdict.
    pub verdicts: BTreeMap<String, u64>,
}

/// Totals of one grader in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunStepBody {
    /// The step; null for items sent without a step.
    pub step: Option<i64>,
    /// Grader and version.
    pub grader: String,
    /// Totals of its grades.
    #[serde(flatten)]
    pub sums: SumsBody,
}

/// Totals over a set of grades.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SumsBody {
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
    /// Mean score of the graded items.
    pub mean_score: Option<f64>,
    /// Standard deviation of the scores.
    pub score_deviation: Option<f64>,
    /// Mean grading time, in microseconds.
    pub mean_grade_us: f64,
    /// Mean queueing time, in microseconds.
    pub mean_queue_us: f64,
}

/// Number of items without a score because of one error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CauseBody {
    /// Error code.
    pub code: String,
    /// Number of items with this error.
    pub grades: u64,
}

impl RunDetail {
    /// Builds the detail of a run from its rollups and its error counts by code, with the highest
    /// `steps` steps.
    #[must_use]
    pub fn new(
        run: RunSummary,
        rollups: &Rollups,
        causes: BTreeMap<String, u64>,
        steps: usize,
    ) -> Self {
        let mut by_grader: BTreeMap<(&str, u32), Sums> = BTreeMap::new();
        let mut by_step: BTreeMap<(Option<i64>, &str, u32), Sums> = BTreeMap::new();
        for (key, totals) in rollups {
            let grader = (key.grader.as_str(), key.version);
            by_grader.entry(grader).or_default().add(key, totals);
            by_step
                .entry((key.step, grader.0, grader.1))
                .or_default()
                .add(key, totals);
        }
        let mut causes: Vec<_> = causes
            .into_iter()
            .map(|(code, grades)| CauseBody { code, grades })
            .collect();
        // A stable sort: causes with equal counts stay in the order of their codes.
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.grades));
        let all: BTreeSet<Option<i64>> = by_step.keys().map(|(step, ..)| *step).collect();
        let highest: BTreeSet<Option<i64>> = all.into_iter().rev().take(steps).collect();
        let shown = by_step
            .into_iter()
            .filter(|((step, ..), _)| highest.contains(step));
        let mut steps: Vec<RunStepBody> = shown
            .map(|((step, name, version), sums)| RunStepBody {
                step,
                grader: format!("{name}@{version}"),
                sums: sums.body(),
            })
            .collect();
        steps.sort_by_key(|step| std::cmp::Reverse(step.step));
        let graders = by_grader
            .into_iter()
            .map(|((name, version), sums)| RunGraderBody {
                grader: format!("{name}@{version}"),
                sums: sums.body(),
                verdicts: sums.verdicts,
            });
        Self {
            run,
            graders: graders.collect(),
            causes,
            steps,
        }
    }
}

/// Accumulated rollups.
#[derive(Default)]
struct Sums {
    totals: Totals,
    outcomes: [u64; 3],
    verdicts: BTreeMap<String, u64>,
}

impl Sums {
    fn add(&mut self, key: &RollupKey, totals: &Totals) {
        self.totals.add(totals);
        let outcomes = ["graded", "ungradable", "failed"];
        if let Some(index) = outcomes.iter().position(|outcome| *outcome == key.outcome) {
            self.outcomes[index] += totals.grades;
        }
        if let Some(verdict) = &key.verdict {
            *self.verdicts.entry(verdict.clone()).or_default() += totals.grades;
        }
    }

    fn body(&self) -> SumsBody {
        let [graded, ungradable, failed] = self.outcomes;
        let mean = |sum: u64| sum as f64 / self.totals.grades.max(1) as f64;
        SumsBody {
            grades: self.totals.grades,
            graded,
            ungradable,
            failed,
            passed: self.totals.passes,
            mean_score: self.totals.mean_score(),
            score_deviation: self.totals.score_deviation(),
            mean_grade_us: mean(self.totals.grade_us),
            mean_queue_us: mean(self.totals.queue_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(step: Option<i64>, grader: &str, verdict: Option<&str>) -> RollupKey {
        RollupKey {
            step,
            grader: grader.to_owned(),
            version: 1,
            outcome: if verdict.is_some() {
                "graded"
            } else {
                "failed"
            }
            .to_owned(),
            verdict: verdict.map(str::to_owned),
        }
    }

    fn detail(steps: usize) -> RunDetail {
        let right = Totals {
            grades: 3,
            passes: 3,
            scores: 3,
            score_sum: 3.0,
            score_squares: 3.0,
            ..Totals::default()
        };
        let wrong = Totals {
            grades: 1,
            scores: 1,
            ..Totals::default()
        };
        let failed = Totals {
            grades: 4,
            grade_us: 40,
            ..Totals::default()
        };
        let rollups = Rollups::from([
            (key(None, "math", Some("correct")), right),
            (key(Some(1), "math", Some("correct")), right),
            (key(Some(1), "math", Some("wrong_answer")), wrong),
            (key(Some(2), "code", None), failed),
        ]);
        let run = RunSummary {
            run: "r".to_owned(),
            grades: 11,
            graded: 7,
            ungradable: 0,
            failed: 4,
            passed: 6,
            mean_score: Some(6.0 / 7.0),
            last_step: Some(2),
            first_us: 0,
            last_us: 1,
            ..RunSummary::default()
        };
        let causes = BTreeMap::from([
            ("cancelled".to_owned(), 1),
            ("sandbox_failed".to_owned(), 3),
        ]);
        RunDetail::new(run, &rollups, causes, steps)
    }

    #[test]
    fn sums_by_grader_and_by_step() {
        let detail = detail(10);
        let steps: Vec<_> = detail
            .steps
            .iter()
            .map(|step| (step.step, step.grader.as_str(), step.sums.grades))
            .collect();
        assert_eq!(
            steps,
            [
                (Some(2), "code@1", 4),
                (Some(1), "math@1", 4),
                (None, "math@1", 3)
            ]
        );
        let math = &detail.graders[1];
        assert_eq!(
            (math.grader.as_str(), math.sums.graded, math.sums.passed),
            ("math@1", 7, 6)
        );
        assert_eq!(
            math.verdicts,
            BTreeMap::from([("correct".to_owned(), 6), ("wrong_answer".to_owned(), 1)])
        );
        assert_eq!(math.sums.mean_score, Some(6.0 / 7.0));
        let code = &detail.graders[0].sums;
        assert_eq!(
            (code.failed, code.mean_score, code.mean_grade_us),
            (4, None, 10.0)
        );
        assert_eq!(detail.causes[0].code, "sandbox_failed");
    }

    #[test]
    fn lists_the_highest_steps_and_sums_all() {
        assert_eq!(
            detail(2)
                .steps
                .iter()
                .map(|step| step.step)
                .collect::<Vec<_>>(),
            [Some(2), Some(1)]
        );
        assert_eq!(detail(0).steps, []);
        assert_eq!(detail(0).graders, detail(3).graders);
        assert_eq!(detail(3).steps.len(), 3);
    }
}
