//! Prepares a task, when the first of its units is graded.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use assay_core::grader::PrepareError;
use assay_core::{ErrorCode, Fault, Grader, PrepareContext, Task};

use crate::cache::PreparedTask;
use crate::state::EngineState;

/// Prepares a task and caches it.
pub(crate) fn prepare(state: &EngineState, grader: &dyn Grader, task: &Task) -> Arc<PreparedTask> {
    let prepared = Arc::new(prepare_one(state, grader, task));
    state.caches.insert_prepared(task.hash(), &prepared);
    prepared
}

/// Prepares one task. A panic of the grader becomes a fault.
pub(crate) fn prepare_one(state: &EngineState, grader: &dyn Grader, task: &Task) -> PreparedTask {
    let spec = grader.spec();
    if let Some(reason) = grader.unavailable() {
        let fault = Fault::permanent(ErrorCode::GraderUnavailable, reason);
        return PreparedTask {
            spec,
            ready: Err(PrepareError::Failed(fault)),
        };
    }
    let cx = PrepareContext::new(&state.graders);
    let ready = catch_unwind(AssertUnwindSafe(|| grader.prepare(task, &cx))).unwrap_or_else(|_| {
        let message = format!(
            "`{}` panicked while preparing the task; report it with the task",
            spec.id()
        );
        Err(PrepareError::Failed(Fault::permanent(
            ErrorCode::GraderPanicked,
            message,
        )))
    });
    PreparedTask { spec, ready }
}
