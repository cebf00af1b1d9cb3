//! `/compat/tei`: the routes of text-embeddings-inference 1.9, for its clients.
//!
//! As in text-embeddings-inference, a sigmoid is applied to a single logit and a softmax to
//! several, unless `raw_scores` is true; probabilities are not changed. All inputs of a request are
//! admitted together or not at all, regardless of their number.

pub(crate) mod embed;
pub(crate) mod info;
pub(crate) mod predict;
pub(crate) mod rerank;

use assay_core::reward_model::Truncate;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::peer_error::{PeerError, retry_after};

/// The end at which a long text is truncated.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[schema(as = TeiTruncationDirection)]
pub(super) enum Direction {
    Left,
    #[default]
    Right,
}

/// How to treat long texts; they are rejected unless `truncate` is true.
fn truncation(truncate: Option<bool>, direction: Direction) -> Truncate {
    match (truncate, direction) {
        (Some(true), Direction::Left) => Truncate::Left,
        (Some(true), Direction::Right) => Truncate::Right,
        (Some(false) | None, _) => Truncate::Reject,
    }
}

/// Error body of TEI.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: String,
    error_type: &'static str,
}

/// The error in TEI's format.
pub(super) fn error_response(error: PeerError) -> Response {
    let (status, error_type, error, after) = match error {
        PeerError::Input(error) => (StatusCode::UNPROCESSABLE_ENTITY, "Validation", error, None),
        PeerError::Empty(error) => (StatusCode::BAD_REQUEST, "Empty", error, None),
        PeerError::UnknownModel(error) | PeerError::NotReady(error) => {
            (StatusCode::SERVICE_UNAVAILABLE, "Unhealthy", error, Some(1))
        }
        PeerError::Busy(error, after) => (
            StatusCode::TOO_MANY_REQUESTS,
            "Overloaded",
            error,
            Some(after),
        ),
        PeerError::Failed(error) => (StatusCode::FAILED_DEPENDENCY, "Backend", error, None),
        PeerError::Rejected(status, error) => (status, "Validation", error, None),
    };
    retry_after(
        (status, Json(ErrorBody { error, error_type })).into_response(),
        after,
    )
}
