//! Reads and normalises the golds once for all completions of a task.

use std::sync::Arc;

use assay_base::truncated;
use assay_core::grader::PrepareError;
use assay_core::{Checked, ErrorCode, Fault, Grader, PrepareContext, Prepared, Spec, Task};

use crate::budget::Budget;
use crate::compare::{Gold, GoldError};
use crate::grade::PreparedMath;
use crate::spec::SPEC;
use crate::task::MathTask;

/// The grader of `math` tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct MathGrader;

impl Grader for MathGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked {
        if MathTask::read(task)?.golds.is_empty() {
            cx.check_without_gold()?;
        }
        Ok(())
    }

    fn has_gold(&self, task: &Task) -> bool {
        MathTask::read(task).map_or(true, |task| !task.golds.is_empty())
    }

    fn prepare(
        &self,
        task: &Task,
        _cx: &PrepareContext<'_>,
    ) -> Result<Arc<dyn Prepared>, PrepareError> {
        prepared(task).map(|prepared| Arc::new(prepared) as Arc<dyn Prepared>)
    }
}

/// A task with its golds read and normalised.
pub(crate) fn prepared(task: &Task) -> Result<PreparedMath, PrepareError> {
    let task = MathTask::read(task)?;
    let budget = Budget::for_golds(task.golds.len());
    let mut golds = Vec::with_capacity(task.golds.len());
    for text in &task.golds {
        let answer = final_answer(text);
        let gold = Gold::read_within(&answer, &task.options, &budget);
        let gold = gold.map_err(|bad| {
            let code = match bad {
                GoldError::Unparsable => ErrorCode::GoldUnparsable,
                GoldError::TooCostly => ErrorCode::GoldTooCostly,
            };
            let shown = truncated(text, 80);
            PrepareError::Ungradable(Fault::permanent(code, format!("{bad}: `{shown}`")))
        })?;
        golds.push(gold);
    }
    Ok(PreparedMath::new(golds, task))
}

/// The items of a gold that is a list of quoted texts, as Python and JSON write it: `['3', '-3']`
/// is the answer `3, -3`.
fn quoted_items(text: &str) -> Option<String> {
    let mut rest = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut items = Vec::new();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let mut item = String::new();
        let mut chars = rest.get(1..)?.chars();
        loop {
            match chars.next()? {
                '\\' => {
                    let escaped = chars.next()?;
                    if !matches!(escaped, '\\' | '\'' | '"') {
                        item.push('\\');
                    }
                    item.push(escaped);
                }
                c if c == quote => break,
                c => item.push(c),
            }
        }
        items.push(item);
        let after = chars.as_str().trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
    }
    (!items.is_empty()).then(|| items.join(", "))
}

/// Shortest text without marks that is taken for a worked solution, in bytes.
const MIN_SOLUTION_BYTES: usize = 200;

/// The answer of a gold that is a worked solution or announces its answer, by the extraction rules
/// for completions. Other phrases stay as they are: it is not clear which of their numbers is the
/// answer.
pub(crate) fn final_answer(text: &str) -> String {
    if let Some(items) = quoted_items(text) {
        return items;
    }
    let marked = ["\\boxed", "####", "<answer>"]
        .iter()
        .any(|mark| text.contains(mark));
    let announced = ["answer", "solution"]
        .iter()
        .any(|word| text.to_lowercase().contains(word))
        && text.contains(' ');
    let long = text.len() > MIN_SOLUTION_BYTES
        && text
            .split_whitespace()
            .filter(|word| word.chars().all(char::is_alphabetic))
            .count()
            > 20;
    if !(marked || announced || long) {
        return text.to_owned();
    }
    let options = assay_extraction::Options {
        choices: !marked,
        ..assay_extraction::Options::default()
    };
    let Some(found) = assay_extraction::extract(text, &options) else {
        return text.to_owned();
    };
    let states = matches!(
        found.rule,
        assay_extraction::Rule::Stated
            | assay_extraction::Rule::BoxedList
            | assay_extraction::Rule::Boxed
    );
    let tail = text.get(found.span.end..).unwrap_or_default();
    let ends = found.rule != assay_extraction::Rule::Whole
        && tail
            .trim_matches(['$', '.', ' ', '\n', ')', '*'])
            .is_empty();
    let head = text
        .get(..found.span.start)
        .unwrap_or_default()
        .trim_end_matches(['$', ' ', '*', '(']);
    let introduced = announced && [" is", " are", ":"].iter().any(|word| head.ends_with(word));
    if marked || states || (long || introduced) && ends {
        found.text.into_owned()
    } else {
        text.to_owned()
    }
}
