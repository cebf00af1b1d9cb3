//! Why a worker gave no answer.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::Death;

/// A request was not answered. None of these is the fault of the work itself, but
/// [`WorkerError::Overran`] may be.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The process cannot be started.
    #[error("cannot start a worker from `{}`: {error}", program.display())]
    Start {
        /// The program that should answer the hidden role.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Every worker that received the request died.
    #[error("every worker that received this request died: {0}")]
    Died(Death),
    /// The request took longer than its timeout, so the worker was killed.
    #[error("a worker did not answer within {} ms and was killed", timeout.as_millis())]
    Overran {
        /// How long the worker was waited for.
        timeout: Duration,
        /// Processor time the worker used meanwhile.
        cpu: Duration,
    },
    /// A message is longer than a frame or malformed.
    #[error("a message between node and worker cannot be read: {0}")]
    Message(String),
    /// No worker was free in time.
    #[error("no worker was free in time")]
    Busy,
    /// The pool is stopping.
    #[error("the workers are stopping")]
    Stopping,
}
