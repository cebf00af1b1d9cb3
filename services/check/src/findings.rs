//! The kinds of findings, one file each with its code, severity and rule. Each has a page under
//! `docs/findings/`.
//!
//! A `RowRule` checks one row with its graded probes. A `DatasetRule` receives all rows in turn
//! and keeps the data that it needs.

mod always_solved;
mod conflicting_golds;
mod contaminated;
mod duplicate_id;
mod duplicate_row;
pub mod duplicates;
mod empty_accepted;
pub(crate) mod field_missing;
mod flaky;
mod gold_fails;
mod gold_missing;
mod gold_not_parsed;
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
pub(crate) mod task_rejected;
mod task_ungradable;
pub(crate) mod template_fails;
mod weak_checks;
mod work_outlier;

use serde::Serialize;

pub(crate) use sink::Sink;
pub(crate) use sketch::Sketch;

use crate::graded_row::{GradedRow, ProbeGrade};
use crate::options::Options;
use crate::probes::Purpose;

/// Severity of a finding. `assay check` exits with 1 for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Rollouts of the row get wrong rewards or none.
    Error,
    /// The row is suspicious or wastes rollouts.
    Warning,
}

/// A kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Stable identifier.
    pub name: &'static str,
    /// Severity of all findings with this code.
    pub severity: Severity,
    /// Short description, in a clause.
    pub title: &'static str,
    /// When it is found, as Markdown.
    pub found: &'static str,
    /// Its effect on training, as Markdown.
    pub why: &'static str,
    /// How to resolve it, as Markdown.
    pub remedy: &'static str,
    /// An example, as Markdown.
    pub example: Option<&'static str>,
}

impl Code {
    /// The page of the documentation on this code, as Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let severity = match self.severity {
            Severity::Error => "Error",
            Severity::Warning => "Warning",
        };
        let mut page = format!("# `{}`\n\n{severity}: {}.\n", self.name, self.title);
        let sections = [
            ("What is found", Some(self.found)),
            ("Why it matters", Some(self.why)),
            ("What to do", Some(self.remedy)),
            ("Example", self.example),
        ];
        for (heading, text) in sections {
            if let Some(text) = text {
                page.push_str(&format!("\n## {heading}\n\n{text}\n"));
            }
        }
        page
    }
}

/// All codes, in the order of the documentation.
pub const ALL: &[&Code] = &[
    &row_not_readable::CODE,
    &field_missing::CODE,
    &template_fails::CODE,
    &task_rejected::CODE,
    &gold_missing::CODE,
    &gold_not_parsed::CODE,
    &sql_gold_ambiguous::CODE,
    &task_ungradable::CODE,
    &gold_fails::CODE,
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

/// Checks one row.
type RowRule = fn(&GradedRow, &mut Sink<'_>);

const ROW_RULES: &[RowRule] = &[
    task_rejected::check,
    gold_missing::check,
    gold_not_parsed::check,
    sql_gold_ambiguous::check,
    task_ungradable::check,
    gold_fails::check,
    solution_fails::check,
    empty_accepted::check,
    refusal_accepted::check,
    mutant_accepted::check,
    weak_checks::check,
    flaky::check,
];

/// Checks a row against the other rows.
pub(crate) trait DatasetRule {
    /// Receives the next row.
    fn add_row(&mut self, row: &GradedRow, sink: &mut Sink<'_>);

    /// Called after the last row.
    fn finish(&mut self, _sink: &mut Sink<'_>) {}
}

/// All rules of one check.
pub(crate) struct Findings<'a>(Vec<Box<dyn DatasetRule + 'a>>);

impl<'a> Findings<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        let mut rules: Vec<Box<dyn DatasetRule + 'a>> = vec![
            Box::new(duplicate_id::Ids::default()),
            Box::new(duplicates::Duplicates::default()),
            Box::new(mixed_answers::AnswerKinds::default()),
            Box::new(work_outlier::WorkByType::default()),
            Box::new(always_solved::Difficulty {
                rollouts: options.rollouts.as_ref(),
            }),
        ];
        if let Some(benchmark) = &options.benchmark {
            rules.push(Box::new(contaminated::Contamination { benchmark }));
        }
        Self(rules)
    }

    pub(crate) fn add_row(&mut self, row: &GradedRow, sink: &mut Sink<'_>) {
        ROW_RULES.iter().for_each(|rule| rule(row, sink));
        self.0.iter_mut().for_each(|rule| rule.add_row(row, sink));
    }

    pub(crate) fn finish(mut self, sink: &mut Sink<'_>) {
        self.0.iter_mut().for_each(|rule| rule.finish(sink));
    }
}

/// The verdict and the reason of a grade, for a message.
fn describe(grade: &ProbeGrade) -> String {
    match &grade.reason {
        Some(reason) => format!("`{}` ({reason})", grade.verdict),
        None => format!("`{}`", grade.verdict),
    }
}

/// The purpose and excerpt of the first probe that passed, of those with a matching purpose.
fn passed(row: &GradedRow, matches: fn(Purpose) -> bool) -> Option<(Purpose, &str)> {
    let passed = row
        .graded()
        .find(|(probe, grade)| matches(probe.purpose) && grade.pass);
    passed.map(|(probe, _)| (probe.purpose, probe.excerpt.as_str()))
}
