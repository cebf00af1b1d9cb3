//! The errors of the engine.

use std::time::Duration;

use assay_core::{ErrorCode, Fault, TaskError};

/// Why the engine rejected a batch. Nothing of the batch was graded, except with
/// [`EngineError::NotCommitted`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// A task is invalid.
    #[error("`{pointer}`: {error}")]
    Task {
        /// JSON pointer to the task in the request.
        pointer: String,
        /// What is wrong with the task.
        error: TaskError,
    },
    /// The items of the batch contradict each other or exceed a limit.
    #[error("{code} at `{pointer}`: {message}")]
    Refused {
        /// Stable code.
        code: ErrorCode,
        /// JSON pointer to the field.
        pointer: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// Too much is in progress.
    #[error(
        "{} `{setting}`; retry in {} s",
        if *own {
            "your requests in progress use your share of"
        } else {
            "what is in progress leaves too little of"
        },
        retry_after.as_secs()
    )]
    Overloaded {
        /// The setting that limits it.
        setting: &'static str,
        /// Whether the caller itself uses more than half of what is free.
        own: bool,
        /// Time after which the backlog is expected to be gone.
        retry_after: Duration,
    },
    /// A quota of the key that sent the batch is exceeded.
    #[error("{message}")]
    QuotaExceeded {
        /// Which quota, and what to do.
        message: String,
        /// Time after which the batch fits.
        retry_after: Duration,
    },
    /// The batch has more items than the node ever admits.
    #[error(
        "the batch has {items} items, more than a caller can have in progress ({most}, half of \
         `engine.items_in_flight`); split it into several requests"
    )]
    TooLarge {
        /// Number of items in the batch.
        items: usize,
        /// Most items that one caller can have in progress.
        most: usize,
    },
    /// The node is shutting down.
    #[error("the node is shutting down; retry, or send the batch to another node")]
    ShuttingDown,
    /// A streaming client stopped reading; the rest of its batch was not graded.
    #[error("the client stopped reading the stream; read faster, or send smaller batches")]
    ClientStalled,
    /// The idempotency key was used for another request.
    #[error(
        "the idempotency key was used with another body or another `Accept`; use a new key for a \
         new request"
    )]
    KeyReused,
    /// The grades of the batch are in the spool, but not in the database in time.
    #[error("{0}")]
    NotCommitted(String),
    /// An item of a request that its sender repeats failed, and may succeed later.
    #[error("an item failed: {}", .0.message)]
    Unfinished(Fault),
    /// Whether the key was used cannot be read from the record.
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
            Self::QuotaExceeded { .. } => ErrorCode::QuotaExceeded,
            Self::TooLarge { .. } => ErrorCode::TooManyItems,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::ClientStalled => ErrorCode::Cancelled,
            Self::KeyReused => ErrorCode::IdempotencyMismatch,
            Self::Unfinished(error) => error.code,
            Self::NotCommitted(_) | Self::Store(_) => ErrorCode::StoreUnavailable,
        }
    }
}
