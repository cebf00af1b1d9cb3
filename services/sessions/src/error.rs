//! Errors of sessions.

use assay_core::{ErrorCode, Fault, SessionId};

use crate::interpreters::CallError;

/// Why a request about a session was not served.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SessionError {
    /// The caller has no session with this id.
    #[error("no session has the id `{0}`; it may have expired, or belong to another caller")]
    Unknown(String),
    /// A field is invalid.
    #[error("{message}")]
    Invalid {
        /// JSON pointer to the field.
        pointer: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// Another open session of the caller has the name.
    #[error("the session `{0}` has this name")]
    NameTaken(SessionId),
    /// The session has used up one of its limits.
    #[error("the session has used up `{limit}`, its limit on {what}; open another one")]
    Exhausted {
        /// The limit.
        limit: &'static str,
        /// What it limits.
        what: &'static str,
    },
    /// The state of the session is gone.
    #[error("the state of the session is lost: {0}; open another one")]
    Lost(String),
    /// The node or the caller has too much of something.
    #[error("{0}")]
    TooMany(String),
    /// The session has as many calls in progress as it may have.
    #[error("the session has {0} calls in progress; wait for their replies")]
    Crowded(usize),
    /// There is no file with this path in the session.
    #[error("the session has no file `{0}`, or it is larger than 16 MiB")]
    NoFile(String),
    /// No worker became free in time.
    #[error("all sandbox workers are busy; the session is unchanged, retry")]
    Busy,
    /// The service is at fault.
    #[error("the call failed and the session is unchanged: {0}")]
    Failed(Fault),
    /// Files of the session cannot be read or written.
    #[error("the files of the session cannot be used: {0}")]
    Storage(String),
}

impl SessionError {
    /// An invalid field.
    pub(crate) fn invalid(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid {
            pointer: pointer.into(),
            message: message.into(),
        }
    }

    /// The error of a call: its files are at fault if another attempt would fail as well, for
    /// example because a folder of the session has the path of a file.
    pub(crate) fn of_files(self, has_files: bool) -> Self {
        match self {
            Self::Failed(fault) if !fault.retryable && has_files => {
                Self::invalid("/files", fault.message)
            }
            error => error,
        }
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_) | Self::NoFile(_) => ErrorCode::NotFound,
            Self::Invalid { .. } | Self::NameTaken(_) => ErrorCode::InvalidField,
            Self::Exhausted { .. } => ErrorCode::SessionExhausted,
            Self::Lost(_) => ErrorCode::SessionLost,
            Self::TooMany(_) => ErrorCode::QuotaExceeded,
            Self::Busy | Self::Crowded(_) => ErrorCode::Overloaded,
            Self::Failed(fault) if fault.code == ErrorCode::ShuttingDown => ErrorCode::ShuttingDown,
            Self::Failed(_) => ErrorCode::CallFailed,
            Self::Storage(_) => ErrorCode::StoreUnavailable,
        }
    }
}

impl From<CallError> for SessionError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Busy => Self::Busy,
            CallError::Failed(fault) => Self::Failed(fault),
        }
    }
}

impl From<std::io::Error> for SessionError {
    fn from(error: std::io::Error) -> Self {
        Self::Storage(error.to_string())
    }
}
