//! Errors of requests to workers.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use assay_core::{ErrorCode, Fault};

use crate::Death;

/// A request was not answered. Only [`WorkerError::Overran`] may be the fault of the work itself.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The process cannot be started.
    #[error("cannot start a worker from `{}`: {error}", program.display())]
    Start {
        /// The binary that implements the hidden role.
        program: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// Every worker that received the request died.
    #[error("every worker that received this request died: {0}")]
    Died(Death),
    /// The worker used its timeout or was stalled, and was killed.
    #[error(
        "a worker did not answer and was killed: it used {} ms of a processor, and may use {} ms",
        cpu.as_millis(), timeout.as_millis()
    )]
    Overran {
        /// Most processor time of the request.
        timeout: Duration,
        /// Processor time that the worker used during the request.
        cpu: Duration,
    },
    /// A message is longer than a frame or malformed.
    #[error("a message between node and worker cannot be read: {0}")]
    Message(String),
    /// No worker was free in time.
    #[error("timed out waiting for a free sandbox worker; retry")]
    Busy,
    /// The pool is stopping.
    #[error("the workers are stopping")]
    Stopping,
}

impl From<WorkerError> for Fault {
    fn from(error: WorkerError) -> Self {
        match error {
            WorkerError::Stopping => Self::transient(
                ErrorCode::ShuttingDown,
                "the node is shutting down; send the item again",
            ),
            WorkerError::Start { .. } => {
                Self::transient(ErrorCode::GraderUnavailable, error.to_string())
            }
            WorkerError::Busy
            | WorkerError::Died(_)
            | WorkerError::Overran { .. }
            | WorkerError::Message(_) => {
                Self::transient(ErrorCode::SandboxFailed, error.to_string())
            }
        }
    }
}
