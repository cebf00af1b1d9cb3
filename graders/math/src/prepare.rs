//! Golds are read and normalised once for all completions of a task.

use std::sync::Arc;

use assay_core::extraction;
use assay_core::grader::Unprepared;
use assay_core::{Checked, ErrorCode, Fault, Grader, PrepareContext, Prepared, Spec, Task, TaskError};

use crate::compare::{BadGold, Gold};
use crate::grade::PreparedMath;
use crate::parse::{read, sentence};
use crate::spec::SPEC;
use crate::task::MathTask;
use crate::tree::Expr;

/// The grader of `math` tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct MathGrader;

impl Grader for MathGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        MathTask::read(task).map(drop)
    }

    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Result<Arc<dyn Prepared>, Unprepared> {
        let task = MathTask::read(task).map_err(|error: TaskError| {
            Unprepared::Ungradable(Fault::lasting(ErrorCode::TaskAtFault, error.to_string()))
        })?;
        let mut golds = Vec::with_capacity(task.golds.len());
        for text in &task.golds {
            let gold = Gold::read(&inner(text), &task.options).map_err(|bad| {
                let code = match bad {
                    BadGold::Unparsable => ErrorCode::GoldUnparsable,
                    BadGold::TooCostly => ErrorCode::GoldTooCostly,
                };
                let shown: String = text.chars().take(80).collect();
                Unprepared::Ungradable(Fault::lasting(code, format!("{bad}: `{shown}`")))
            })?;
            golds.push(gold);
        }
        Ok(Arc::new(PreparedMath::new(golds, task)))
    }
}

/// A gold written as a whole solution or sentence is reduced to its answer by the rules for completions.
fn inner(text: &str) -> String {
    let is_solution = ["\\boxed", "####", "<answer>"].iter().any(|mark| text.contains(mark));
    // A sentence that says one word answers with that word, which is the comparison's matter.
    if !is_solution && (sentence::predicate(text).is_some() || !reads_as_words(text)) {
        return text.to_owned();
    }
    let options = extraction::Options { choices: !is_solution, ..extraction::Options::default() };
    let Some(found) = extraction::extract(text, &options) else {
        return text.to_owned();
    };
    // Of a sentence only what it states, or what it ends with, is its answer.
    let states = matches!(found.rule, extraction::Rule::Stated | extraction::Rule::BoxedList | extraction::Rule::Boxed);
    let tail = text.get(found.span.end..).unwrap_or_default();
    let ends = found.rule != extraction::Rule::Whole && tail.trim_matches(['$', '.', ' ', '\n', ')', '*']).is_empty();
    if is_solution || states || ends { found.text.into_owned() } else { text.to_owned() }
}

/// Whether a gold is a sentence around something else.
fn reads_as_words(text: &str) -> bool {
    let has_more = text.contains(['$', '\\', '(']) || text.contains(|c: char| c.is_ascii_digit());
    let words = text.split_whitespace().filter(|word| word.len() > 1 && word.chars().all(char::is_alphabetic)).count();
    has_more
        && words >= 2
        && matches!(read(text).map(|reading| reading.expr), None | Some(Expr::Text(_) | Expr::List(_)))
}
