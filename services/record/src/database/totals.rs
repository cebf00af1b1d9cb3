//! Totals of a run.

use assay_rewards::sum;

use crate::StoredGrade;

/// Sums over some grades of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RunTotals {
    pub(crate) grades: u64,
    pub(crate) graded: u64,
    pub(crate) ungradable: u64,
    pub(crate) failed: u64,
    /// Passed after appeals.
    pub(crate) passed: u64,
    pub(crate) scores: u64,
    pub(crate) score_sum: f64,
    pub(crate) rewards: u64,
    pub(crate) reward_sum: f64,
    pub(crate) last_step: Option<i64>,
    /// First and last time, in microseconds since the Unix epoch; `None` without a grade.
    pub(crate) times: Option<(i64, i64)>,
}

impl RunTotals {
    pub(crate) fn add_grade(&mut self, stored: &StoredGrade) {
        let graded = stored.grade.outcome == "graded";
        self.add(&Self {
            grades: 1,
            graded: graded.into(),
            ungradable: (stored.grade.outcome == "ungradable").into(),
            failed: (stored.grade.outcome == "failed").into(),
            passed: (graded && stored.grade.pass_after_appeal() == Some(true)).into(),
            scores: stored.grade.score.is_some().into(),
            score_sum: stored.grade.score.unwrap_or(0.0),
            rewards: stored.grade.reward.is_some().into(),
            reward_sum: stored.grade.reward.unwrap_or(0.0),
            last_step: stored.source.step,
            times: Some((stored.grade.time_us, stored.grade.time_us)),
        });
    }

    /// Adds the sums over other grades.
    pub(crate) fn add(&mut self, other: &Self) {
        self.grades += other.grades;
        self.graded += other.graded;
        self.ungradable += other.ungradable;
        self.failed += other.failed;
        self.passed += other.passed;
        self.scores += other.scores;
        sum::add(&mut self.score_sum, other.score_sum);
        self.rewards += other.rewards;
        sum::add(&mut self.reward_sum, other.reward_sum);
        self.last_step = self.last_step.max(other.last_step);
        self.times = match (self.times, other.times) {
            (Some((first, last)), Some((other_first, other_last))) => {
                Some((first.min(other_first), last.max(other_last)))
            }
            (times, None) | (None, times) => times,
        };
    }
}
