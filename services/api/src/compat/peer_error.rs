//! Errors of the routes that emulate other servers. [`convert_errors`](super::peer::convert_errors)
//! writes each in the format of the server that the route belongs to.

use assay_core::ErrorCode;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use crate::error::ApiError;

/// Why a request in another server's format failed.
#[derive(Debug, Clone)]
pub(crate) enum PeerError {
    /// The request is invalid; sending it again fails again.
    Input(String),
    /// The request has no input.
    Empty(String),
    /// The request names a model that does not exist.
    UnknownModel(String),
    /// No model is ready yet.
    NotReady(String),
    /// The queue is full; retry after this many seconds.
    Busy(String, u64),
    /// An error of the node.
    Failed(String),
    /// An error of a shared layer, which keeps its status on every route.
    Rejected(StatusCode, String),
}

impl From<ApiError> for PeerError {
    fn from(error: ApiError) -> Self {
        let message = error.problem().to_string();
        match error.problem().code {
            ErrorCode::Overloaded
            | ErrorCode::QuotaExceeded
            | ErrorCode::ShuttingDown
            | ErrorCode::DeadlineExceeded => {
                Self::Busy(message, error.retry_after_s().unwrap_or(1))
            }
            ErrorCode::ModelUnavailable => Self::NotReady(message),
            ErrorCode::UnknownModel => Self::UnknownModel(message),
            ErrorCode::EmptyBatch => Self::Empty(message),
            ErrorCode::Internal => Self::Failed(message),
            code @ (ErrorCode::OtherSite
            | ErrorCode::Unauthenticated
            | ErrorCode::Forbidden
            | ErrorCode::NotFound
            | ErrorCode::MethodNotAllowed
            | ErrorCode::BodyTooLarge
            | ErrorCode::InvalidParameter
            | ErrorCode::UnsupportedMedia) => Self::Rejected(
                StatusCode::from_u16(code.status()).unwrap_or(StatusCode::BAD_REQUEST),
                message,
            ),
            _ => Self::Input(message),
        }
    }
}

impl IntoResponse for PeerError {
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl PeerError {
    /// Status, message and seconds to wait, for servers whose status for invalid requests is
    /// `invalid`. Their clients do not retry a 4xx but retry a 5xx, so a busy node returns 503.
    pub(super) fn parts(self, invalid: StatusCode) -> (StatusCode, String, Option<u64>) {
        match self {
            Self::Input(message) | Self::Empty(message) => (invalid, message, None),
            Self::UnknownModel(message) => (StatusCode::NOT_FOUND, message, None),
            Self::NotReady(message) => (StatusCode::SERVICE_UNAVAILABLE, message, Some(1)),
            Self::Busy(message, after) => (StatusCode::SERVICE_UNAVAILABLE, message, Some(after)),
            Self::Failed(message) => (StatusCode::INTERNAL_SERVER_ERROR, message, None),
            Self::Rejected(status, message) => (status, message, None),
        }
    }
}

/// Name of an error in the servers that follow OpenAI's format.
pub(super) fn error_kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "NotFoundError",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailableError",
        status if status.is_server_error() => "InternalServerError",
        _ => "BadRequestError",
    }
}

/// Adds a `Retry-After` header with this many seconds, if any.
pub(super) fn retry_after(mut response: Response, seconds: Option<u64>) -> Response {
    if let Some(seconds) = seconds {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
