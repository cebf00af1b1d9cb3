//! Sums over grades by step, grader, outcome and verdict. They are stored, so that counting grades
//! does not scan them.

use std::collections::BTreeMap;

use assay_rewards::sum;

use crate::StoredGrade;

/// The key of a rollup within a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RollupKey {
    /// Step of the run; `None` for grades without a step.
    pub step: Option<i64>,
    /// Name of the grader.
    pub grader: String,
    /// Version of the grader.
    pub version: u32,
    /// `graded`, `ungradable` or `failed`.
    pub outcome: String,
    /// Verdict of graded items.
    pub verdict: Option<String>,
}

impl RollupKey {
    /// The key of the rollup that contains `grade`.
    #[must_use]
    pub fn of(stored: &StoredGrade) -> Self {
        Self {
            step: stored.source.step,
            grader: stored.grade.grader.name.to_string(),
            version: stored.grade.grader.version,
            outcome: stored.grade.outcome.to_string(),
            verdict: stored.grade.verdict.as_ref().map(ToString::to_string),
        }
    }
}

/// Sums over grades.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Number of grades.
    pub grades: u64,
    /// Grades that passed after appeals.
    pub passes: u64,
    /// Grades with a score.
    pub scores: u64,
    /// Sum of the scores.
    pub score_sum: f64,
    /// Sum of the squares of the scores.
    pub score_squares: f64,
    /// Sum of the grading times, in microseconds.
    pub grade_us: u64,
    /// Sum of the queue times, in microseconds.
    pub queue_us: u64,
}

impl Totals {
    /// Adds one grade.
    pub fn push(&mut self, stored: &StoredGrade) {
        let score = stored.grade.score.unwrap_or(0.0);
        self.add(&Self {
            grades: 1,
            passes: (stored.grade.pass_after_appeal() == Some(true)).into(),
            scores: stored.grade.score.is_some().into(),
            score_sum: score,
            score_squares: sum::square(score),
            grade_us: stored.grade.grade_us,
            queue_us: stored.grade.queue_us,
        });
    }

    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        self.grades += other.grades;
        self.passes += other.passes;
        self.scores += other.scores;
        sum::add(&mut self.score_sum, other.score_sum);
        sum::add(&mut self.score_squares, other.score_squares);
        self.grade_us = self.grade_us.saturating_add(other.grade_us);
        self.queue_us = self.queue_us.saturating_add(other.queue_us);
    }

    /// Mean score; `None` without a score.
    #[must_use]
    pub fn mean_score(&self) -> Option<f64> {
        sum::mean(self.score_sum, self.scores)
    }

    /// Population standard deviation of the scores; `None` without a score.
    #[must_use]
    pub fn score_deviation(&self) -> Option<f64> {
        sum::deviation(self.score_sum, self.score_squares, self.scores)
    }
}

/// The rollups of a run.
pub type Rollups = BTreeMap<RollupKey, Totals>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_mean_and_deviation_of_scores() {
        let totals = Totals {
            grades: 5,
            scores: 4,
            score_sum: 2.0,
            score_squares: 2.0,
            ..Totals::default()
        };
        assert_eq!(
            (totals.mean_score(), totals.score_deviation()),
            (Some(0.5), Some(0.5))
        );
        assert_eq!(
            (
                Totals::default().mean_score(),
                Totals::default().score_deviation()
            ),
            (None, None)
        );
    }

    #[test]
    fn treats_negative_variance_as_zero() {
        let totals = Totals {
            scores: 3,
            score_sum: 0.3,
            score_squares: 0.029_999_999,
            ..Totals::default()
        };
        assert_eq!(totals.score_deviation(), Some(0.0));
    }
}
