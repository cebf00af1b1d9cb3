//! Lists of grades: what they contain, and their pages.

use assay_core::clock::{BatchId, GradeId};

use crate::chart::Counted;
use crate::{Appeal, StoredGrade};

/// Which grades to list. A field that is `None` or empty does not restrict the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GradeFilter {
    /// Exact name of the run.
    pub run: Option<String>,
    /// Exact step.
    pub step: Option<i64>,
    /// First step, inclusive.
    pub step_min: Option<i64>,
    /// Last step, inclusive.
    pub step_max: Option<i64>,
    /// Exact name of the grader.
    pub grader: Option<String>,
    /// Exact channel.
    pub channel: Option<String>,
    /// One of these outcomes: `graded`, `ungradable` or `failed`.
    pub outcomes: Vec<String>,
    /// One of these verdicts.
    pub verdicts: Vec<String>,
    /// One of these results of an appeal: `overturned`, `upheld`, `disagreed` or `unjudged`.
    pub appeals: Vec<String>,
    /// One of these codes of errors. Grades that were recorded before causes were a column of their
    /// own do not match.
    pub causes: Vec<String>,
    /// Whether the completion was cut at the length limit; known of graded items. Grades that were
    /// recorded before this was a column of its own count as complete.
    pub truncated: Option<bool>,
    /// Exact batch.
    pub batch: Option<BatchId>,
    /// Exact name of the caller.
    pub caller: Option<String>,
    /// Exact id of the item, as sent.
    pub item: Option<String>,
    /// Exact group, as sent.
    pub group: Option<String>,
    /// Exact label of a comment on the grade.
    pub label: Option<String>,
    /// Exact key of the prompt. Fast only with a run. Grades that were recorded before keys were a
    /// column of their own do not match.
    pub prompt_key: Option<String>,
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
    /// The values of a part of a filter that accepts several, separated by commas.
    #[must_use]
    pub fn values(list: Option<&str>) -> Vec<String> {
        let values = list.into_iter().flat_map(|list| list.split(','));
        let values = values.map(str::trim).filter(|value| !value.is_empty());
        values.map(str::to_owned).collect()
    }

    /// Whether `grade` matches the filter, except for its label, which is not part of a grade.
    /// Tests compare every database query with this definition.
    #[must_use]
    pub fn keeps(&self, stored: &StoredGrade) -> bool {
        fn matches<T: PartialEq>(expected: Option<&T>, actual: Option<&T>) -> bool {
            expected.is_none_or(|expected| Some(expected) == actual)
        }
        fn is(expected: &Option<String>, actual: Option<&str>) -> bool {
            expected.is_none() || expected.as_deref() == actual
        }
        fn is_one_of(expected: &[String], actual: Option<&str>) -> bool {
            expected.is_empty() || expected.iter().any(|one| Some(&**one) == actual)
        }
        self.run
            .as_deref()
            .is_none_or(|run| stored.source.run.as_deref() == Some(run))
            && matches(self.step.as_ref(), stored.source.step.as_ref())
            && self
                .step_min
                .is_none_or(|min| stored.source.step.is_some_and(|step| step >= min))
            && self
                .step_max
                .is_none_or(|max| stored.source.step.is_some_and(|step| step <= max))
            && is(&self.grader, Some(&*stored.grade.grader.name))
            && is(&self.channel, Some(&*stored.grade.channel))
            && is_one_of(&self.outcomes, Some(&*stored.grade.outcome))
            && is_one_of(&self.verdicts, stored.grade.verdict.as_deref())
            && is_one_of(
                &self.appeals,
                stored.grade.appeal.as_ref().map(Appeal::as_str),
            )
            && is_one_of(
                &self.causes,
                stored.grade.error.as_ref().map(|error| error.code.as_str()),
            )
            && (self.truncated).is_none_or(|truncated| truncated == stored.grade.is_truncated())
            && matches(self.batch.as_ref(), Some(&stored.source.batch))
            && self
                .caller
                .as_deref()
                .is_none_or(|caller| *stored.source.caller == *caller)
            && is(&self.item, stored.grade.id.as_deref())
            && is(&self.group, stored.grade.group.as_deref())
            && is(&self.prompt_key, stored.grade.prompt_key.as_deref())
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

/// Numbers of grades by what they have in common.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KindCounts {
    /// Counts of the topic [`Kind`](crate::chart::Topic::Kind).
    pub counted: Counted,
    /// Whether more grades match than were counted, of which the newest were.
    pub more: bool,
}

/// A page of grades, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GradePage {
    /// The grades.
    pub grades: Vec<StoredGrade>,
    /// Cursor of the next page: pass it as `before`. `None` on the last page.
    pub next: Option<GradeId>,
}

/// The grades next to a grade in a list, which is sorted by id, newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The previous one in the list; `None` if there is none.
    pub newer: Option<GradeId>,
    /// The next one; `None` if there is none.
    pub older: Option<GradeId>,
}
