//! The grader, and the preparation of its tasks.

use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Checked, Grader, PrepareContext, Spec, Task};

use crate::conflicts;
use crate::grade::PreparedInstructions;
use crate::spec::SPEC;
use crate::task::InstructionsTask;

/// The grader of `instructions` tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct InstructionsGrader;

impl Grader for InstructionsGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        InstructionsTask::read(task).map(drop)
    }

    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Preparation {
        let task = InstructionsTask::read(task)?;
        match conflicts::find(&task.constraints) {
            Some(message) => Err(PrepareError::task_at_fault(message)),
            None => Ok(Arc::new(PreparedInstructions { task })),
        }
    }
}
