//! Why a request was refused, as JSON.

use std::borrow::Cow;
use std::fmt;

use assay_core::{ErrorCode, TaskError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::reading::shortened;

/// Longest message and pointer, in bytes: both may quote client input, which may be megabytes long.
const MAX_BYTES: usize = 2_048;

/// Why a request was refused: a stable code, where, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Stable code; `docs/API.md` lists them.
    #[schema(value_type = String, example = "unknown_grader")]
    pub code: ErrorCode,
    /// What was wrong and what to do.
    #[schema(value_type = String)]
    pub message: Cow<'static, str>,
    /// JSON pointer to the field of the request body; null when it is not one field's fault.
    #[schema(example = "/items/0/task/type")]
    pub pointer: Option<String>,
}

/// Body of every reply that is no success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// The reason.
    pub error: Problem,
}

impl Problem {
    /// A problem of the request as a whole.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: bounded(message.into()),
            pointer: None,
        }
    }

    /// A problem of one field.
    #[must_use]
    pub fn at(code: ErrorCode, pointer: String, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: bounded(message.into()),
            pointer: Some(shortened(pointer, MAX_BYTES)),
        }
    }

    /// A task's problem, its pointer made absolute by that of the task.
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
        Cow::Owned(text) => Cow::Owned(shortened(text, MAX_BYTES)),
        fixed @ Cow::Borrowed(_) => fixed,
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pointer {
            Some(pointer) => write!(f, "{} at `{pointer}`: {}", self.code, self.message),
            None => write!(f, "{}: {}", self.code, self.message),
        }
    }
}

impl std::error::Error for Problem {}
