//! Errors of pages, which are shown as pages.

use assay_access::{ExceededQuota, redact};
use assay_core::ErrorCode;
use assay_engine::{ChannelError, ReplayError};
use assay_record::store::StoreError;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use crate::page::ErrorPage;

/// Why a page cannot be shown.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    /// An invalid part of the URL or of a form.
    pub(crate) fn parameter(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
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

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "cannot read the record for a page");
        let message = "the record cannot be read; reload the page, or see the log of the node";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }
}

impl From<ChannelError> for Failure {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Store(error) => error.into(),
            error => Self::of(error.code(), error.to_string()),
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

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (
            self.status,
            ErrorPage {
                status: self.status,
                // It may quote a path, which may contain a key by mistake.
                message: redact(&self.message).into_owned(),
            },
        )
            .into_response()
    }
}
