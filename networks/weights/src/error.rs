//! Errors of loading, running and saving a model.

use std::path::Path;

/// A model cannot be loaded or run. The message states which file or option is at fault and what to
/// do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(String);

impl LoadError {
    /// Creates an error with this message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// First line of the message of a device error, without the backtrace that may follow it.
#[must_use]
pub fn first_line(error: &candle_core::Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

impl From<candle_core::Error> for LoadError {
    fn from(error: candle_core::Error) -> Self {
        Self(first_line(&error))
    }
}

/// A file of a model cannot be written. An existing file is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` cannot be written: {problem}")]
pub struct SaveError {
    path: String,
    problem: String,
}

impl SaveError {
    /// Creates an error for writing `path`.
    pub(crate) fn new(path: &Path, problem: &impl ToString) -> Self {
        Self {
            path: path.display().to_string(),
            problem: problem.to_string(),
        }
    }
}

impl From<SaveError> for LoadError {
    fn from(error: SaveError) -> Self {
        Self(error.to_string())
    }
}
