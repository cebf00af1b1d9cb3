//! Errors of the optimiser.

/// Invalid settings, parameters, gradients or state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptimiserError(String);

impl OptimiserError {
    /// An error with this message.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<candle_core::Error> for OptimiserError {
    /// Keeps the first line, without a backtrace.
    fn from(error: candle_core::Error) -> Self {
        Self(
            error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        )
    }
}
