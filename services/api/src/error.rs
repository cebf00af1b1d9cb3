//! Conversion of all errors to responses with one JSON format, and the status of each error code.

use std::borrow::Cow;

use assay_access::redact;
use assay_core::ErrorCode;
use assay_core::reward_model::ModelError;
use assay_engine::EngineError;
use assay_jobs::JobError;
use assay_mapping::batch::problem;
use assay_record::RecordError;
use assay_review::ReviewError;
use assay_review::filter::FilterError;
use assay_review::pairs::RunPairsError;
use assay_review::receipt::ReceiptError;
use assay_review::replay::ReplayError;
use assay_review::suggest::SuggestError;
use assay_sessions::SessionError;
use assay_wire::{Problem, ProblemBody};
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use crate::request_id;

/// How to authenticate (RFC 6750).
const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"assay\"");

/// Value of `Retry-After` in seconds if there are too many sessions, which end at any time.
const RETRY_AFTER_QUOTA_S: u64 = 10;

/// An error response. It is attached to the response as an extension, so that a layer can convert
/// it to another format.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    problem: Problem,
    retry_after_s: Option<u64>,
}

pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Problem::new(code, message).into()
    }

    /// This error with another value of `Retry-After`.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after_s: Some(seconds),
            ..self
        }
    }

    /// Value of `Retry-After` in seconds, if a retry can succeed.
    pub(crate) fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_s
    }

    pub(crate) fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl From<Problem> for ApiError {
    fn from(mut problem: Problem) -> Self {
        let retry_after_s = retry_after_s(problem.code);
        // Messages quote paths and fields, which may contain a key by mistake.
        if let Cow::Owned(redacted) = redact(&problem.message) {
            problem.message = redacted.into();
        }
        Self {
            problem,
            retry_after_s,
        }
    }
}

/// Default value of `Retry-After` in seconds for this error code, where no better value is known.
fn retry_after_s(code: ErrorCode) -> Option<u64> {
    let is_transient = matches!(
        code,
        ErrorCode::Overloaded
            | ErrorCode::ShuttingDown
            | ErrorCode::DeadlineExceeded
            | ErrorCode::ModelUnavailable
            | ErrorCode::CallFailed
            | ErrorCode::StoreUnavailable
    );
    is_transient.then_some(1)
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let retry_after_s = match &error {
            EngineError::Overloaded { retry_after, .. }
            | EngineError::QuotaExceeded { retry_after, .. } => Some(retry_after.as_secs().max(1)),
            _ => None,
        };
        let error = Self::from(problem(error));
        Self {
            retry_after_s: retry_after_s.or(error.retry_after_s),
            ..error
        }
    }
}

impl From<ReplayError> for ApiError {
    fn from(error: ReplayError) -> Self {
        let code = error.code();
        match error {
            ReplayError::Engine(error) => error.into(),
            error => Self::new(code, error.to_string()),
        }
    }
}

impl From<ReceiptError> for ApiError {
    fn from(error: ReceiptError) -> Self {
        match error {
            ReceiptError::Stored(error) => error.into(),
            ReceiptError::Key(error) => {
                // The message names a path of the node.
                tracing::error!(%error, "receipts cannot be signed");
                let message = "the key of receipts cannot be used; the log of the node says why";
                Self::new(ErrorCode::Internal, message)
            }
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

impl From<ReviewError> for ApiError {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::Store(error) => error.into(),
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

impl From<FilterError> for ApiError {
    fn from(error: FilterError) -> Self {
        match error {
            FilterError::Invalid { message, .. } => Self::new(ErrorCode::InvalidParameter, message),
            FilterError::Store(error) => error.into(),
        }
    }
}

impl From<JobError> for ApiError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Invalid(problem) => problem.into(),
            JobError::Record(error) => error.into(),
            JobError::QuotaExceeded { retry_after, .. } => {
                Self::new(error.code(), error.to_string()).retry_after(retry_after.as_secs().max(1))
            }
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

impl From<RunPairsError> for ApiError {
    fn from(error: RunPairsError) -> Self {
        match error {
            RunPairsError::Record(error) => error.into(),
            RunPairsError::NoReference { .. } => {
                Problem::at(error.code(), "/reference".to_owned(), error.to_string()).into()
            }
            RunPairsError::UnknownRun(_) => Self::new(error.code(), error.to_string()),
        }
    }
}

impl From<ModelError> for ApiError {
    fn from(error: ModelError) -> Self {
        let retry_after_s = match &error {
            ModelError::Overloaded { retry_after, .. } => Some(retry_after.as_secs().max(1)),
            _ => None,
        };
        let error = Self::new(error.code(), error.to_string());
        Self {
            retry_after_s: retry_after_s.or(error.retry_after_s),
            ..error
        }
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        let code = error.code();
        match error {
            SessionError::Invalid { pointer, message } => Problem::invalid(pointer, message).into(),
            SessionError::TooMany(message) => {
                Self::new(code, message).retry_after(RETRY_AFTER_QUOTA_S)
            }
            error => Self::new(code, error.to_string()),
        }
    }
}

impl From<SuggestError> for ApiError {
    fn from(error: SuggestError) -> Self {
        match error {
            SuggestError::Setting(setting) => {
                Problem::invalid(format!("/{}", setting.field), setting.to_string()).into()
            }
            SuggestError::Review(error) => error.into(),
            SuggestError::Stopped => Self::new(ErrorCode::ShuttingDown, error.to_string()),
        }
    }
}

impl From<PathRejection> for ApiError {
    fn from(rejection: PathRejection) -> Self {
        Self::new(
            ErrorCode::InvalidParameter,
            rejection.body_text().to_lowercase(),
        )
    }
}

impl From<RecordError> for ApiError {
    fn from(error: RecordError) -> Self {
        if let RecordError::Busy(_) | RecordError::NotCommitted(_) = error {
            return Self::new(ErrorCode::StoreUnavailable, error.to_string());
        }
        tracing::error!(%error, "cannot read the record");
        Self::new(
            ErrorCode::StoreUnavailable,
            "the record is currently unavailable; retry, and see the node's log",
        )
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.code.status())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (
            status,
            Json(ProblemBody {
                error: self.problem.clone(),
                request_id: request_id::current(),
            }),
        )
            .into_response();
        if let Some(seconds) = self.retry_after_s {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.problem.code == ErrorCode::Unauthenticated {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, CHALLENGE);
        }
        response.extensions_mut().insert(self);
        response
    }
}
