//! The error about sessions that cannot be frozen or thawed.

/// Why an instance cannot be frozen or thawed. Another attempt would fail as well.
#[derive(Debug, thiserror::Error)]
#[error("the session cannot be {done}: {reason}")]
pub(crate) struct FrozenError {
    done: &'static str,
    reason: String,
}

/// The error about an instance that cannot be `done`.
pub(crate) fn cannot(done: &'static str, reason: &dyn std::fmt::Display) -> FrozenError {
    FrozenError {
        done,
        reason: reason.to_string(),
    }
}
