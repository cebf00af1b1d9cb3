//! Why weights cannot be trained.

/// Settings, parameters, gradients or a state that do not fit: what, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptimiserError(String);

impl OptimiserError {
    /// An error that says this.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<candle_core::Error> for OptimiserError {
    /// What the device says, without the backtrace that may follow it.
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
