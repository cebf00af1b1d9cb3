//! Rows of lists of grades.

use assay_record::{Appeal, ItemGrade, StoredGrade};

use crate::display::{cell, optional_number, span, time};
use crate::query::link;

/// A coloured label of a verdict or outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Badge {
    pub(crate) text: String,
    /// Class of the style sheet: `pass`, `not_passed`, `other`, `ungradable` or `failed`.
    pub(crate) class: &'static str,
}

impl Badge {
    pub(crate) fn new(outcome: &str, verdict: Option<&str>, pass: Option<bool>) -> Self {
        let class = match (outcome, pass) {
            ("graded", Some(true)) => "pass",
            ("graded", Some(false)) => "not_passed",
            ("graded", None) => "other",
            ("ungradable", _) => "ungradable",
            _ => "failed",
        };
        Self {
            text: cell(verdict.unwrap_or(outcome)),
            class,
        }
    }

    /// The badge of a grade.
    pub(crate) fn of(grade: &ItemGrade) -> Self {
        Self::new(&grade.outcome, grade.verdict.as_deref(), grade.pass)
    }
}

/// A grade in a list.
pub(crate) struct Row {
    pub(crate) address: String,
    pub(crate) time: String,
    pub(crate) run: Option<(String, String)>,
    pub(crate) step: Option<i64>,
    pub(crate) channel: String,
    pub(crate) item: String,
    pub(crate) group: String,
    pub(crate) badge: Badge,
    pub(crate) score: String,
    pub(crate) reward: String,
    pub(crate) appeal: Option<&'static str>,
    pub(crate) grade_time: String,
}

impl From<&StoredGrade> for Row {
    fn from(StoredGrade { source, grade }: &StoredGrade) -> Self {
        let run = source
            .run
            .as_deref()
            .map(|run| (cell(run), link("/ui/run", &[("name", Some(run))])));
        Self {
            address: format!("/ui/grades/{}", grade.grade),
            time: time(grade.time_us),
            run,
            step: source.step,
            channel: cell(&grade.channel),
            item: cell(grade.id.as_deref().unwrap_or("–")),
            group: cell(grade.group.as_deref().unwrap_or("–")),
            badge: Badge::of(grade),
            score: optional_number(grade.score),
            reward: optional_number(grade.reward),
            appeal: grade.appeal.as_ref().map(Appeal::as_str),
            grade_time: span(grade.grade_us as f64),
        }
    }
}
