//! The rules, one file each with the codes that it reports. Each code has a page in
//! `docs/findings/`, which `assay check --explain` prints.
//!
//! A `RowRule` checks one row with its graded probes. A `DatasetRule` receives all rows in turn
//! and keeps the data that it needs.

mod code;
mod contaminated;
mod difficulty;
mod duplicate_id;
pub mod duplicates;
mod flaky;
mod gold_fails;
mod gold_missing;
mod gold_not_parsed;
mod mixed_answers;
mod module_missing;
pub(crate) mod no_task;
mod rule;
pub(crate) mod sink;
mod solution_fails;
mod sql_gold_ambiguous;
mod task_ungradable;
mod weak_checks;
mod work_outlier;
mod wrong_accepted;

use crate::graded_row::GradedRow;
use crate::options::Options;
use crate::report::Report;

pub use code::{Code, Severity};
pub(crate) use rule::DatasetRule;
pub(crate) use sink::Sink;

/// All codes, in the order of the documentation.
pub const ALL: &[&Code] = &[
    &no_task::ROW_NOT_READABLE,
    &no_task::FIELD_MISSING,
    &no_task::TEMPLATE_FAILS,
    &no_task::TASK_REJECTED,
    &gold_missing::CODE,
    &gold_not_parsed::CODE,
    &sql_gold_ambiguous::CODE,
    &module_missing::CODE,
    &task_ungradable::CODE,
    &gold_fails::CODE,
    &solution_fails::CODE,
    &wrong_accepted::EMPTY,
    &wrong_accepted::REFUSAL,
    &wrong_accepted::MUTANT,
    &weak_checks::CODE,
    &flaky::CODE,
    &duplicate_id::CODE,
    &duplicates::DUPLICATE_ROW,
    &duplicates::NEAR_DUPLICATE,
    &duplicates::CONFLICTING_GOLDS,
    &contaminated::CODE,
    &difficulty::ALWAYS_SOLVED,
    &difficulty::NEVER_SOLVED,
    &mixed_answers::CODE,
    &work_outlier::CODE,
];

/// The code of this name.
#[must_use]
pub fn code(name: &str) -> Option<&'static Code> {
    ALL.iter().find(|code| code.name == name).copied()
}

impl Report {
    /// Number of findings of a severity, listed or not.
    #[must_use]
    pub fn of(&self, severity: Severity) -> u64 {
        let of = |name: &str| code(name).is_some_and(|code| code.severity == severity);
        self.counts
            .iter()
            .filter(|(name, _)| of(name))
            .map(|(_, count)| count)
            .sum()
    }
}

/// Checks one row.
type RowRule = fn(&GradedRow, &mut Sink<'_>);

const ROW_RULES: &[RowRule] = &[
    no_task::check,
    gold_missing::check,
    gold_not_parsed::check,
    sql_gold_ambiguous::check,
    module_missing::check,
    task_ungradable::check,
    gold_fails::check,
    solution_fails::check,
    wrong_accepted::check,
    weak_checks::check,
    flaky::check,
];

/// All rules of one check.
pub(crate) struct Findings<'a>(Vec<Box<dyn DatasetRule + 'a>>);

impl<'a> Findings<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        let mut rules: Vec<Box<dyn DatasetRule + 'a>> = vec![
            Box::new(duplicate_id::Ids::default()),
            Box::new(duplicates::Duplicates::default()),
            Box::new(mixed_answers::AnswerKinds::default()),
            Box::new(work_outlier::WorkByType::default()),
            Box::new(difficulty::Difficulty {
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
