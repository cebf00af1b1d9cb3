//! Why a check stops.

use assay_engine::EngineError;

use crate::sources::SourceError;

/// Why a check stopped.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A dataset cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The engine rejected a batch.
    #[error("the engine rejected the probes: {0}")]
    Engine(#[from] EngineError),
    /// No row has the column of rollouts.
    #[error("no rollouts found: `{0}` is neither a file nor a column")]
    NoRollouts(String),
    /// A thread of the check panicked.
    #[error("a thread of the check panicked; report this bug with the dataset")]
    Thread,
}
