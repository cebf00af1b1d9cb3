//! The rules, one file each with the codes that it reports. Each code has a page in
//! `docs/findings/`, which `assay check --explain` prints.
//!
//! A `RowRule` checks one row with its graded probes. A `DatasetRule` receives all rows in turn
//! and keeps the data that it needs.

mod answer_in_prompt;
mod calculation;
mod choices;
mod code;
mod codes;
mod contaminated;
mod difficulty;
mod duplicate_id;
pub mod duplicates;
mod expected_calls;
mod flaky;
mod gold_brittle;
mod gold_fails;
mod gold_form;
mod gold_missing;
mod gold_not_parsed;
mod gold_sentence;
mod id_missing;
mod ignore_invalid;
mod latex_broken;
mod mixed_answers;
mod module_missing;
pub(crate) mod no_task;
mod prompt_incomplete;
mod prompt_language;
mod rule;
mod rule_fails;
mod schema_suspicious;
pub(crate) mod sink;
mod solution_fails;
mod solution_refuses;
mod sql_gold_ambiguous;
mod sql_order_missing;
mod task_ungradable;
mod tested_name;
mod tests_fragile;
mod text_damaged;
mod unchecked;
mod weak_checks;
mod work_outlier;
mod wrong_accepted;

use crate::graded_row::GradedRow;
use crate::options::Options;
use crate::report::Report;

pub use code::{Code, Severity};
pub use codes::Codes;
pub(crate) use rule::DatasetRule;
pub(crate) use sink::Sink;

/// All codes, in the order of the documentation.
pub const ALL: &[&Code] = &[
    &no_task::ROW_NOT_READABLE,
    &no_task::FIELD_MISSING,
    &no_task::TEMPLATE_FAILS,
    &no_task::TASK_REJECTED,
    &id_missing::CODE,
    &prompt_incomplete::CODE,
    &text_damaged::CODE,
    &latex_broken::CODE,
    &prompt_language::CODE,
    &answer_in_prompt::CODE,
    &gold_missing::CODE,
    &gold_form::NOTE,
    &gold_form::AMBIGUOUS,
    &gold_sentence::CODE,
    &choices::CODE,
    &gold_not_parsed::CODE,
    &sql_gold_ambiguous::CODE,
    &module_missing::CODE,
    &task_ungradable::CODE,
    &schema_suspicious::CODE,
    &expected_calls::INVALID,
    &expected_calls::MISSING,
    &sql_order_missing::CODE,
    &tested_name::CODE,
    &tests_fragile::CODE,
    &gold_fails::CODE,
    &gold_brittle::CODE,
    &solution_fails::CODE,
    &solution_refuses::CODE,
    &calculation::DIFFERS,
    &calculation::SLIP,
    &wrong_accepted::EMPTY,
    &wrong_accepted::REFUSAL,
    &wrong_accepted::PROMPT,
    &wrong_accepted::MUTANT,
    &weak_checks::CODE,
    &flaky::CODE,
    &duplicate_id::CODE,
    &duplicates::DUPLICATE_ROW,
    &duplicates::NEAR_DUPLICATE,
    &duplicates::NEAR_CONFLICT,
    &duplicates::CONFLICTING_GOLDS,
    &contaminated::CODE,
    &difficulty::ALWAYS_SOLVED,
    &difficulty::NEVER_SOLVED,
    &difficulty::DISAGREE,
    &mixed_answers::CODE,
    &work_outlier::CODE,
    &unchecked::CODE,
    &ignore_invalid::CODE,
    &rule_fails::CODE,
];

/// The code of this name.
#[must_use]
pub fn code(name: &str) -> Option<&'static Code> {
    ALL.iter().find(|code| code.name == name).copied()
}

impl Default for Codes {
    /// The built-in codes.
    fn default() -> Self {
        Self::of(ALL)
    }
}

impl Report {
    /// Number of findings of a severity, listed or not.
    #[must_use]
    pub fn of(&self, severity: Severity) -> u64 {
        let of = |name: &str| {
            let code = self.codes.get(name);
            code.is_some_and(|code| code.severity == severity)
        };
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
    ignore_invalid::check,
    no_task::check,
    id_missing::check,
    prompt_incomplete::check,
    text_damaged::check,
    latex_broken::check,
    answer_in_prompt::check,
    gold_form::check,
    choices::check,
    schema_suspicious::check,
    expected_calls::check,
    sql_order_missing::check,
    tested_name::check,
    tests_fragile::check,
    gold_brittle::check,
    solution_refuses::check,
    calculation::check,
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
    rule_fails::check,
];

/// All rules of one check.
pub(crate) struct Findings<'a>(Vec<Box<dyn DatasetRule + 'a>>);

impl<'a> Findings<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        let mut rules: Vec<Box<dyn DatasetRule + 'a>> = vec![
            Box::new(duplicate_id::Ids::default()),
            Box::new(duplicates::Duplicates::default()),
            Box::new(mixed_answers::AnswerKinds::default()),
            Box::new(gold_sentence::Sentences::default()),
            Box::new(prompt_language::Languages::default()),
            Box::new(unchecked::Unchecked::default()),
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
