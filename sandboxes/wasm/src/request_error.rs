//! Why a request to a worker fails.

use crate::frozen::FrozenError;
use crate::guest::Stopped;
use crate::translate::TranslatorEnded;

/// Why a request fails. Never the fault of the program.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// Another attempt would fail as well.
    Permanent(String),
    /// Another attempt may succeed.
    Transient(String),
}

impl RequestError {
    /// An instance cannot be created.
    #[expect(clippy::needless_pass_by_value, reason = "shaped for `map_err`")]
    pub(crate) fn no_instance(error: wasmtime::Error) -> Self {
        Self::Transient(format!("cannot create an instance: {error:#}"))
    }

    /// An instance ended without a result.
    pub(crate) fn no_result(stopped: &Stopped) -> Self {
        Self::Transient(match stopped {
            Stopped::HostOutOfMemory => "the system is out of memory".to_owned(),
            other => format!("the instance ended without a result: {other:?}"),
        })
    }
}

impl From<FrozenError> for RequestError {
    fn from(error: FrozenError) -> Self {
        Self::Permanent(error.to_string())
    }
}

impl From<TranslatorEnded> for RequestError {
    fn from(error: TranslatorEnded) -> Self {
        Self::Transient(error.to_string())
    }
}
