//! Why a policy cannot be made, run or saved.

use assay_weights::{LoadError, SaveError, first_line};

/// What went wrong with a policy, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(String);

impl PolicyError {
    /// An error that says this.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<candle_core::Error> for PolicyError {
    fn from(error: candle_core::Error) -> Self {
        Self(first_line(&error))
    }
}

impl From<LoadError> for PolicyError {
    fn from(error: LoadError) -> Self {
        Self(error.to_string())
    }
}

impl From<SaveError> for PolicyError {
    fn from(error: SaveError) -> Self {
        Self(error.to_string())
    }
}
