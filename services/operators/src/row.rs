//! A grade as a row of a list.

use assay_core::channel::Appeal;
use assay_core::record::GradeRecord;

use crate::query::link;
use crate::show::{cell, maybe, span, time};

/// A word in a colour: how an item was graded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Badge {
    pub(crate) word: String,
    /// Class of the style sheet: `pass`, `refused`, `other`, `ungradable` or `failed`.
    pub(crate) class: &'static str,
}

impl Badge {
    pub(crate) fn new(outcome: &str, verdict: Option<&str>, pass: Option<bool>) -> Self {
        let class = match (outcome, pass) {
            ("graded", Some(true)) => "pass",
            ("graded", Some(false)) => "refused",
            ("graded", None) => "other",
            ("ungradable", _) => "ungradable",
            _ => "failed",
        };
        Self {
            word: cell(verdict.unwrap_or(outcome)),
            class,
        }
    }
}

/// What a list shows of a grade.
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
    pub(crate) took: String,
}

impl From<&GradeRecord> for Row {
    #[expect(
        clippy::cast_precision_loss,
        reason = "times of one item are far below 2^52 microseconds"
    )]
    fn from(grade: &GradeRecord) -> Self {
        let run = grade
            .run
            .as_deref()
            .map(|run| (cell(run), link("/ui/run", &[("name", Some(run))])));
        Self {
            address: format!("/ui/grades/{}", grade.grade),
            time: time(grade.time_us),
            run,
            step: grade.step,
            channel: cell(&grade.channel),
            item: cell(grade.item.as_deref().unwrap_or("–")),
            group: cell(grade.group.as_deref().unwrap_or("–")),
            badge: Badge::new(&grade.outcome, grade.verdict.as_deref(), grade.pass),
            score: maybe(grade.score),
            reward: maybe(grade.reward),
            appeal: grade.appeal.as_ref().map(Appeal::word),
            took: span(grade.grade_us as f64),
        }
    }
}
