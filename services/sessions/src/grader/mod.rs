//! The grader of `session` tasks: the log of a session, whose calls run again.

mod grade;
mod spec;

use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Checked, ErrorCode, Fault, Grader, PrepareContext, Spec, Task, TaskError};
use assay_wire::sessions::SessionLog;
use serde::Deserialize;
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
        let log = match read(task)? {
            Content::Log(log) => *log,
            Content::Unavailable(reason) => return Err(PrepareError::task_at_fault(reason)),
        };
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

/// What a task has.
enum Content {
    Log(Box<SessionLog>),
    /// Why it has no log.
    Unavailable(String),
}

/// A task that the service made of a session whose log is not part of a grade.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unavailable {
    #[serde(rename = "session")]
    _session: String,
    unavailable: String,
}

/// Reads a task: the log of a session, or why there is none.
fn read(task: &Task) -> Result<Content, TaskError> {
    if let Ok(Unavailable { unavailable, .. }) = task.parse() {
        return Ok(Content::Unavailable(unavailable));
    }
    let log: SessionLog = task.parse()?;
    replay::check(&log).map_err(|error| match error {
        SessionError::Invalid { pointer, message } => {
            TaskError::new(ErrorCode::InvalidTask, &pointer, message)
        }
        error => TaskError::new(ErrorCode::InvalidTask, "", error.to_string()),
    })?;
    Ok(Content::Log(Box::new(log)))
}
