//! Lists of grades: what they contain, and their pages.

use assay_core::clock::{BatchId, GradeId};

use crate::{Appeal, StoredGrade};

/// Which grades to list. A field that is `None` does not restrict the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GradeFilter {
    /// Exact name of the run.
    pub run: Option<String>,
    /// Exact step.
    pub step: Option<i64>,
    /// Exact name of the grader.
    pub grader: Option<String>,
    /// Exact channel.
    pub channel: Option<String>,
    /// Exact outcome: `graded`, `ungradable` or `failed`.
    pub outcome: Option<String>,
    /// Exact verdict.
    pub verdict: Option<String>,
    /// Result of the appeal: `overturned`, `upheld`, `disagreed` or `unjudged`.
    pub appeal: Option<String>,
    /// Exact batch.
    pub batch: Option<BatchId>,
    /// Exact name of the caller.
    pub caller: Option<String>,
    /// Exact id of the item, as sent.
    pub item: Option<String>,
    /// Exact group, as sent.
    pub group: Option<String>,
    /// Smallest score, inclusive.
    pub score_min: Option<f64>,
    /// Largest score, inclusive.
    pub score_max: Option<f64>,
    /// Earliest time, inclusive, in microseconds since the Unix epoch.
    pub since_us: Option<i64>,
    /// Latest time, exclusive, in microseconds since the Unix epoch.
    pub until_us: Option<i64>,
}

impl GradeFilter {
    /// Whether `grade` matches the filter. Tests compare every database query with this definition.
    #[must_use]
    pub fn keeps(&self, stored: &StoredGrade) -> bool {
        fn matches<T: PartialEq>(expected: Option<&T>, actual: Option<&T>) -> bool {
            expected.is_none_or(|expected| Some(expected) == actual)
        }
        fn is(expected: &Option<String>, actual: Option<&str>) -> bool {
            expected.is_none() || expected.as_deref() == actual
        }
        self.run
            .as_deref()
            .is_none_or(|run| stored.source.run.as_deref() == Some(run))
            && matches(self.step.as_ref(), stored.source.step.as_ref())
            && is(&self.grader, Some(&*stored.grade.grader.name))
            && is(&self.channel, Some(&*stored.grade.channel))
            && is(&self.outcome, Some(&*stored.grade.outcome))
            && is(&self.verdict, stored.grade.verdict.as_deref())
            && self.appeal.as_deref().is_none_or(|result| {
                stored.grade.appeal.as_ref().map(Appeal::as_str) == Some(result)
            })
            && matches(self.batch.as_ref(), Some(&stored.source.batch))
            && self
                .caller
                .as_deref()
                .is_none_or(|caller| *stored.source.caller == *caller)
            && is(&self.item, stored.grade.id.as_deref())
            && is(&self.group, stored.grade.group.as_deref())
            && self
                .score_min
                .is_none_or(|min| stored.grade.score.is_some_and(|score| score >= min))
            && self
                .score_max
                .is_none_or(|max| stored.grade.score.is_some_and(|score| score <= max))
            && self
                .since_us
                .is_none_or(|since| stored.grade.time_us >= since)
            && self
                .until_us
                .is_none_or(|until| stored.grade.time_us < until)
    }
}

/// A page of grades, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GradePage {
    /// The grades.
    pub grades: Vec<StoredGrade>,
    /// Cursor of the next page: pass it as `before`. `None` on the last page.
    pub next: Option<GradeId>,
}
