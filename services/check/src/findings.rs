//! What can be found, one file a finding: its code, how bad it is, and how it is seen. Each has a
//! page under `docs/findings/`.
//!
//! Rules look at one row with its graded probes. Surveys see every row in turn and remember what
//! they need of it.

mod always_solved;
mod conflicting_golds;
mod contaminated;
mod duplicate_id;
mod duplicate_row;
pub mod duplicates;
mod empty_accepted;
pub(crate) mod field_missing;
mod flaky;
mod gold_missing;
mod gold_not_parsed;
mod gold_not_right;
mod mixed_answers;
mod mutant_accepted;
mod near_duplicate;
mod never_solved;
mod refusal_accepted;
pub(crate) mod row_not_readable;
pub(crate) mod sink;
mod sketch;
mod solution_fails;
mod sql_gold_ambiguous;
pub(crate) mod task_not_made;
pub(crate) mod task_refused;
mod task_ungradable;
mod weak_checks;
mod work_outlier;

use serde::Serialize;

pub(crate) use sink::Sink;
pub(crate) use sketch::Sketch;

use crate::examined::{Examined, Graded};
use crate::options::Options;
use crate::probes::Purpose;

/// How bad a finding is. Either kind makes a dataset unclean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The row gives wrong rewards, or none.
    Error,
    /// The row is suspicious, or wastes rollouts.
    Warning,
}

/// A kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// The stable word.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it says of a row, in a clause.
    pub title: &'static str,
}

/// Every code, in the order of the documentation.
pub const ALL: &[&Code] = &[
    &row_not_readable::CODE,
    &field_missing::CODE,
    &task_not_made::CODE,
    &task_refused::CODE,
    &gold_missing::CODE,
    &gold_not_parsed::CODE,
    &sql_gold_ambiguous::CODE,
    &task_ungradable::CODE,
    &gold_not_right::CODE,
    &solution_fails::CODE,
    &empty_accepted::CODE,
    &refusal_accepted::CODE,
    &mutant_accepted::CODE,
    &weak_checks::CODE,
    &flaky::CODE,
    &duplicate_id::CODE,
    &duplicate_row::CODE,
    &near_duplicate::CODE,
    &conflicting_golds::CODE,
    &contaminated::CODE,
    &always_solved::CODE,
    &never_solved::CODE,
    &mixed_answers::CODE,
    &work_outlier::CODE,
];

/// The code of this name.
#[must_use]
pub fn code(name: &str) -> Option<&'static Code> {
    ALL.iter().find(|code| code.name == name).copied()
}

/// A look at one row.
type Rule = fn(&Examined, &mut Sink<'_>);

/// What is seen of one row alone.
const RULES: &[Rule] = &[
    task_refused::look,
    gold_missing::look,
    gold_not_parsed::look,
    sql_gold_ambiguous::look,
    task_ungradable::look,
    gold_not_right::look,
    solution_fails::look,
    empty_accepted::look,
    refusal_accepted::look,
    mutant_accepted::look,
    weak_checks::look,
    flaky::look,
];

/// What is seen of many rows together.
pub(crate) trait Survey {
    /// Sees a row.
    fn note(&mut self, row: &Examined, sink: &mut Sink<'_>);

    /// Has seen the last one.
    fn finish(&mut self, _sink: &mut Sink<'_>) {}
}

/// All rules and surveys of one check.
pub(crate) struct Findings<'a>(Vec<Box<dyn Survey + 'a>>);

impl<'a> Findings<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        let mut surveys: Vec<Box<dyn Survey + 'a>> = vec![
            Box::new(duplicate_id::Ids::default()),
            Box::new(duplicates::Duplicates::default()),
            Box::new(mixed_answers::Answers::default()),
            Box::new(work_outlier::Works::default()),
            Box::new(always_solved::Difficulty {
                rollouts: options.rollouts.as_ref(),
            }),
        ];
        if let Some(benchmark) = &options.benchmark {
            surveys.push(Box::new(contaminated::Against { benchmark }));
        }
        Self(surveys)
    }

    pub(crate) fn note(&mut self, row: &Examined, sink: &mut Sink<'_>) {
        RULES.iter().for_each(|rule| rule(row, sink));
        self.0.iter_mut().for_each(|survey| survey.note(row, sink));
    }

    pub(crate) fn finish(mut self, sink: &mut Sink<'_>) {
        self.0.iter_mut().for_each(|survey| survey.finish(sink));
    }
}

/// What a grade said, in words.
fn told(graded: &Graded) -> String {
    match &graded.why {
        Some(why) => format!("`{}` ({why})", graded.verdict),
        None => format!("`{}`", graded.verdict),
    }
}

/// The first answer for this purpose that passed.
fn passed(row: &Examined, wanted: fn(Purpose) -> bool) -> Option<(Purpose, &str)> {
    let passed = row
        .graded()
        .find(|(answer, graded)| wanted(answer.purpose) && graded.pass);
    passed.map(|(answer, _)| (answer.purpose, answer.shown.as_str()))
}
