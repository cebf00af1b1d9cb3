//! Why a model cannot be loaded, run or saved.

use std::path::Path;

/// A directory, its files or the options do not make a model that can be run: what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(String);

impl LoadError {
    /// An error that says this.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// What an error of the device says, without the backtrace that may follow it.
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

/// A file of a model cannot be written: which, and why. What was there before is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` cannot be written: {problem}")]
pub struct SaveError {
    path: String,
    problem: String,
}

impl SaveError {
    /// An error of writing `path`.
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
