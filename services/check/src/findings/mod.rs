//! The kinds of findings, one file each with its code, severity and page, which is generated under
//! `docs/findings/`. Most files also have the rule; kinds that are found together share one.
//!
//! A `RowRule` checks one row with its graded probes. A `DatasetRule` receives all rows in turn
//! and keeps the data that it needs.

mod always_solved;
mod code;
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
mod module_missing;
mod mutant_accepted;
mod near_duplicate;
mod never_solved;
mod refusal_accepted;
pub(crate) mod row_not_readable;
mod rule;
pub(crate) mod sink;
mod solution_fails;
mod sql_gold_ambiguous;
pub(crate) mod task_rejected;
mod task_ungradable;
pub(crate) mod template_fails;
mod weak_checks;
mod work_outlier;

use crate::graded_row::GradedRow;
use crate::options::Options;
use crate::report::Report;

pub use code::{Code, Severity};
pub(crate) use rule::DatasetRule;
pub(crate) use sink::Sink;

/// All codes, in the order of the documentation.
pub const ALL: &[&Code] = &[
    &row_not_readable::CODE,
    &field_missing::CODE,
    &template_fails::CODE,
    &task_rejected::CODE,
    &gold_missing::CODE,
    &gold_not_parsed::CODE,
    &sql_gold_ambiguous::CODE,
    &module_missing::CODE,
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
    task_rejected::check,
    gold_missing::check,
    gold_not_parsed::check,
    sql_gold_ambiguous::check,
    module_missing::check,
    task_ungradable::check,
    gold_fails::check,
    solution_fails::check,
    empty_accepted::check,
    refusal_accepted::check,
    mutant_accepted::check,
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
