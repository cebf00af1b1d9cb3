//! Why the engine does not grade a batch.

use std::time::Duration;

use assay_core::{ErrorCode, TaskError};

/// Why the engine does not grade a batch. Nothing of the batch was graded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// A task's shape is wrong.
    #[error("`{pointer}`: {error}")]
    Task {
        /// JSON pointer to the task in the request.
        pointer: String,
        /// What is wrong with it.
        error: TaskError,
    },
    /// What the items of the batch ask for together cannot be done.
    #[error("{code} at `{pointer}`: {message}")]
    Refused {
        /// Stable code.
        code: ErrorCode,
        /// JSON pointer to the field.
        pointer: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// Too much work is waiting.
    #[error("too much work is waiting; retry in {} s", retry_after.as_secs())]
    Overloaded {
        /// Time after which the backlog should be gone.
        retry_after: Duration,
    },
    /// The batch is larger than the node could ever admit.
    #[error(
        "the batch has {items} items, more than the node admits at once ({most}); send it in \
         several requests"
    )]
    TooLarge {
        /// Items of the batch.
        items: usize,
        /// Items the node admits.
        most: usize,
    },
    /// The node is shutting down.
    #[error("the node is shutting down; send the batch to another or retry")]
    ShuttingDown,
    /// A streaming client stopped reading; the rest of its batch was not graded.
    #[error("the client did not read its stream; read faster, or send smaller batches")]
    ClientStalled,
    /// The idempotency key belongs to another request.
    #[error(
        "the idempotency key was used with another body or another `Accept`; use a new key for a \
         new request"
    )]
    KeyReused,
    /// The record cannot say whether the key was used.
    #[error("{0}")]
    Store(String),
}

impl EngineError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Task { error, .. } => error.code,
            Self::Refused { code, .. } => *code,
            Self::Overloaded { .. } => ErrorCode::Overloaded,
            Self::TooLarge { .. } => ErrorCode::TooManyItems,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::ClientStalled => ErrorCode::Cancelled,
            Self::KeyReused => ErrorCode::IdempotencyMismatch,
            Self::Store(_) => ErrorCode::StoreUnavailable,
        }
    }
}
