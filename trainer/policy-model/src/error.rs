//! Errors of policy models.

use assay_weights::{LoadError, SaveError, first_line};

/// A policy model cannot be created, run or saved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(String);

impl PolicyError {
    /// An error with this message.
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
