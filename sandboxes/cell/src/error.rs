//! Why a cell gave no answer.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::Death;

/// A request was not answered. None of these is the fault of the work itself, but
/// [`CellError::Overran`] may be.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The process cannot be started.
    #[error("cannot start a cell from `{}`: {error}", program.display())]
    Start {
        /// The program that should answer the hidden role.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Every cell that received the request died.
    #[error("every cell that received this request died: {0}")]
    Died(Death),
    /// The request took longer than its patience, so the cell was killed.
    #[error("a cell did not answer within {} ms and was killed", patience.as_millis())]
    Overran {
        /// How long the cell was waited for.
        patience: Duration,
        /// Processor time the cell used meanwhile.
        cpu: Duration,
    },
    /// A message is longer than a frame or malformed.
    #[error("a message between node and cell cannot be read: {0}")]
    Message(String),
    /// No cell was free in time.
    #[error("no cell was free in time")]
    Busy,
    /// The pool is stopping.
    #[error("the cells are stopping")]
    Stopping,
}
