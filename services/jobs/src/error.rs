//! The errors of jobs.

use std::time::Duration;

use assay_core::{BatchId, ErrorCode};
use assay_record::RecordError;
use assay_wire::Problem;

/// Why a request about jobs failed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The lines or parameters of a request are invalid.
    #[error(transparent)]
    Invalid(#[from] Problem),
    /// There is no job with this id.
    #[error("no job has the id `{0}`; `/v1/jobs` lists them")]
    NotFound(BatchId),
    /// The caller has too many open jobs, or too large ones.
    #[error("{message}")]
    QuotaExceeded {
        /// Which limit, and what to do.
        message: String,
        /// Time after which to try again.
        retry_after: Duration,
    },
    /// Another request with the same idempotency key is being received.
    #[error("a request with this idempotency key is being received; retry when it is complete")]
    InProgress,
    /// A later release made the job.
    #[error(
        "the job kind `{0}` is not supported by this version; use the version that created the job"
    )]
    UnknownKind(String),
    /// The node has no record.
    #[error("the node has no record, in which jobs are stored; start it with a database")]
    NoRecord,
    /// The record cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl JobError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(problem) => problem.code,
            Self::NotFound(_) | Self::UnknownKind(_) => ErrorCode::NotFound,
            Self::QuotaExceeded { .. } => ErrorCode::QuotaExceeded,
            Self::InProgress => ErrorCode::Overloaded,
            Self::NoRecord | Self::Record(_) => ErrorCode::StoreUnavailable,
        }
    }
}
