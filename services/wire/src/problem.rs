//! The error body of rejected requests.

use std::borrow::Cow;
use std::fmt;

use assay_core::{ErrorCode, TaskError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use assay_base::truncate::with_ellipsis;

/// Maximum length of messages and pointers, in bytes: both can quote client input, which can be
/// megabytes long.
const MAX_BYTES: usize = 2_048;

/// Why a request was rejected: a stable code, the location, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Stable code; `docs/API.md` lists them.
    #[schema(value_type = String, example = "unknown_grader")]
    pub code: ErrorCode,
    /// What is wrong and what to do.
    #[schema(value_type = String)]
    pub message: Cow<'static, str>,
    /// JSON pointer to the field of the request body; null if the error is not about one field.
    #[schema(example = "/items/0/task/type")]
    pub pointer: Option<String>,
}

/// Body of every error response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// The error.
    pub error: Problem,
    /// Id of the request, as in the header `x-request-id` and in the log.
    pub request_id: Option<String>,
}

impl Problem {
    /// A problem with the request as a whole.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: bounded(message.into()),
            pointer: None,
        }
    }

    /// A problem with one field.
    #[must_use]
    pub fn at(code: ErrorCode, pointer: String, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: bounded(message.into()),
            pointer: Some(with_ellipsis(pointer, MAX_BYTES)),
        }
    }

    /// An invalid field.
    #[must_use]
    pub fn invalid(pointer: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::at(ErrorCode::InvalidField, pointer.into(), message)
    }

    /// A problem with a task; `task_pointer` is prepended to the pointer of the error.
    #[must_use]
    pub fn of_task(task_pointer: &str, error: TaskError) -> Self {
        Self::at(
            error.code,
            format!("{task_pointer}{}", error.pointer),
            error.message,
        )
    }
}

fn bounded(message: Cow<'static, str>) -> Cow<'static, str> {
    match message {
        Cow::Owned(text) => Cow::Owned(with_ellipsis(text, MAX_BYTES)),
        literal @ Cow::Borrowed(_) => literal,
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pointer {
            Some(pointer) if !pointer.is_empty() => {
                write!(f, "{} at `{pointer}`: {}", self.code, self.message)
            }
            _ => write!(f, "{}: {}", self.code, self.message),
        }
    }
}

impl std::error::Error for Problem {}
