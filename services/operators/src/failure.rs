//! Errors of pages.

use assay_access::ExceededQuota;
use assay_core::ErrorCode;
use assay_jobs::JobError;
use assay_record::RecordError;
use assay_review::ReviewError;
use assay_review::filter::FilterError;
use assay_review::replay::ReplayError;
use assay_sessions::SessionError;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

/// Why a page cannot be shown.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The field of a form, or the parameter of the URL, that is invalid.
    pub(crate) parameter: Option<String>,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            parameter: None,
        }
    }

    /// An invalid parameter of the URL or field of a form.
    pub(crate) fn parameter(name: &str, message: impl Into<String>) -> Self {
        Self {
            parameter: Some(name.to_owned()),
            ..Self::new(StatusCode::BAD_REQUEST, message)
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    fn of(code: ErrorCode, message: String) -> Self {
        Self::new(
            StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            message,
        )
    }
}

impl From<ExceededQuota> for Failure {
    fn from(exceeded: ExceededQuota) -> Self {
        Self::of(ErrorCode::QuotaExceeded, exceeded.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        tracing::error!(%error, "cannot read the record for a page");
        let message = "the record cannot be read; reload the page, or see the log of the node";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Record(error) => error.into(),
            error => Self::of(error.code(), error.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::of(error.code(), error.to_string())
    }
}

impl From<ReviewError> for Failure {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::Store(error) => error.into(),
            ReviewError::InvalidComment { field, message } => Self::parameter(field, message),
            error => Self::of(error.code(), error.to_string()),
        }
    }
}

impl From<FilterError> for Failure {
    fn from(error: FilterError) -> Self {
        match error {
            FilterError::Store(error) => error.into(),
            FilterError::Invalid { parameter, message } => Self::parameter(parameter, message),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Store(error) => error.into(),
            error => Self::of(error.code(), error.to_string()),
        }
    }
}

/// The failure is shown as a page by the layer that knows who the viewer is, which determines the
/// navigation.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
