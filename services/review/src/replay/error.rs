//! Why an item cannot be replayed, and the options of a replay.

use std::collections::BTreeMap;

use assay_core::{ErrorCode, GradeId, TaskError};
use assay_record::RecordError;
use serde_json::value::RawValue;

use assay_engine::EngineError;

/// Why a stored item cannot be graded again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no grade with this id.
    #[error("no grade has the id `{0}`")]
    NotFound(GradeId),
    /// The node has no record.
    #[error("the node has no record; start it with a database")]
    NoRecord,
    /// A body was deleted from the record.
    #[error("the {what} of this grade was deleted from the record")]
    BodyDeleted {
        /// `task`, `completion` or `prompt`.
        what: &'static str,
    },
    /// The policy for bodies did not store a body.
    #[error(
        "the {what} of this grade was not stored, because of the setting `retention.bodies`; it \
         cannot be graded again"
    )]
    BodyOmitted {
        /// `task`, `completion` or `prompt`.
        what: &'static str,
    },
    /// Texts were replaced before they were stored.
    #[error(
        "texts of this grade were redacted before they were stored, so grading it again would not \
         repeat the original"
    )]
    Redacted,
    /// A body cannot be parsed.
    #[error("the stored {what} cannot be read: {reason}")]
    InvalidBody {
        /// `task`, `completion`, `prompt`, `checks` or `meta`.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// A judge would be called, which costs and may reply differently.
    #[error("a judge made this grade; run `assay replay --judges --database URL` to call it again")]
    CallsJudge,
    /// The record cannot be read.
    #[error(transparent)]
    Store(#[from] RecordError),
    /// The engine rejected it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl ReplayError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_)
            | Self::BodyDeleted { .. }
            | Self::BodyOmitted { .. }
            | Self::Redacted
            | Self::CallsJudge => ErrorCode::NotFound,
            Self::NoRecord | Self::Store(_) => ErrorCode::StoreUnavailable,
            Self::InvalidBody { .. } => ErrorCode::Internal,
            Self::Engine(error) => error.code(),
        }
    }
}

/// How stored items are graded again.
#[derive(Debug, Clone, Default)]
pub struct ReplayOptions {
    /// Fields to set in stored tasks before they are graded again, as JSON values by name. Checks
    /// are not changed.
    pub fields: BTreeMap<String, Box<RawValue>>,
    /// Whether judges are called again.
    pub call_judges: bool,
}

/// The error of a task that its grader rejects.
pub(crate) fn rejected_task(error: TaskError) -> ReplayError {
    EngineError::Task {
        pointer: "/task".to_owned(),
        error,
    }
    .into()
}
