//! Why a shard is not graded.

use std::time::Duration;

use assay_engine::EngineError;

/// Pause before a shard is tried again that the record could not read or store.
pub(crate) const STORE_PAUSE: Duration = Duration::from_secs(2);

/// Why a shard is not graded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShardError {
    /// Not now: it is tried again after this time, and the try does not count.
    #[error("it cannot be graded yet")]
    Later(Duration),
    /// The node stops.
    #[error("the node stops")]
    Stopping,
    /// It failed, and may succeed if it is tried again.
    #[error("{0}")]
    Failed(String),
    /// It can never be graded.
    #[error("{0}")]
    Refused(String),
}

impl From<&EngineError> for ShardError {
    fn from(error: &EngineError) -> Self {
        match error {
            EngineError::Overloaded { retry_after, .. }
            | EngineError::QuotaExceeded { retry_after, .. } => Self::Later(*retry_after),
            EngineError::NotCommitted(_) | EngineError::Store(_) => Self::Later(STORE_PAUSE),
            EngineError::ShuttingDown => Self::Stopping,
            EngineError::Unfinished(_) => Self::Failed(error.to_string()),
            EngineError::Task { .. }
            | EngineError::Refused { .. }
            | EngineError::TooLarge { .. }
            | EngineError::ClientStalled
            | EngineError::KeyReused => Self::Refused(error.to_string()),
        }
    }
}
