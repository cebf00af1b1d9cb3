//! The grader of `session` tasks: the log of a session, whose calls run again.

mod grade;
mod spec;

use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Checked, ErrorCode, Fault, Grader, PrepareContext, Spec, Task, TaskError};
use assay_wire::sessions::SessionLog;
use tokio::sync::Semaphore;

use self::grade::{PreparedLog, Replays};
use self::spec::SPEC;
use crate::error::SessionError;
use crate::interpreters::Interpreters;
use crate::replay;

/// The grader of `session` tasks.
pub struct SessionGrader(Arc<Replays>);

impl SessionGrader {
    /// Runs at most `replays` logs at the same time, whose states have at most `state_bytes`.
    #[must_use]
    pub fn new(interpreters: Arc<dyn Interpreters>, state_bytes: u64, replays: usize) -> Self {
        Self(Arc::new(Replays {
            interpreters,
            state_bytes,
            permits: Semaphore::new(replays),
        }))
    }
}

impl Grader for SessionGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        read(task).map(drop)
    }

    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Preparation {
        let log = read(task)?;
        replay::image_of(self.0.interpreters.as_ref(), &log).map_err(|error| {
            let fault = Fault::permanent(ErrorCode::GraderUnavailable, error.to_string());
            PrepareError::Failed(fault)
        })?;
        Ok(Arc::new(PreparedLog {
            replays: Arc::clone(&self.0),
            bytes: task.body.get().len(),
            log,
        }))
    }
}

/// Reads a task: the log of a session.
fn read(task: &Task) -> Result<SessionLog, TaskError> {
    let log: SessionLog = task.parse()?;
    replay::check(&log).map_err(|error| match error {
        SessionError::Invalid { pointer, message } => {
            TaskError::new(ErrorCode::InvalidTask, &pointer, message)
        }
        error => TaskError::new(ErrorCode::InvalidTask, "", error.to_string()),
    })?;
    Ok(log)
}
