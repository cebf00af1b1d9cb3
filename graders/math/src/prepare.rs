//! Golds are read and normalised once for all completions of a task.

use std::sync::Arc;

use assay_core::extraction;
use assay_core::grader::Unprepared;
use assay_core::{Checked, ErrorCode, Fault, Grader, PrepareContext, Prepared, Spec, Task, TaskError};

use crate::compare::{BadGold, Gold};
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

/// A gold written as a whole solution is reduced to its answer by the rules for completions.
fn inner(text: &str) -> String {
    let is_solution = text.contains("\\boxed") || text.contains("####");
    if !is_solution {
        return text.to_owned();
    }
    extraction::extract(text, &extraction::Options::default())
        .map_or_else(|| text.to_owned(), |found| found.text.into_owned())
}
