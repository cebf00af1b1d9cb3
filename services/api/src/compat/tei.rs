//! `/compat/tei`: the routes of text-embeddings-inference 1.9, for its clients.
//!
//! One number is squeezed by a sigmoid and several by a softmax unless `raw_scores` asks otherwise,
//! as there; probabilities stay what they are. All inputs of a request are admitted together or not
//! at all, however many there are.

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

use super::reward::{Trouble, retry_after};

/// Which end of a long text is cut.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[schema(as = TeiTruncationDirection)]
pub(super) enum Direction {
    Left,
    #[default]
    Right,
}

/// What the request wants done with long texts; without a wish they are refused.
fn truncation(truncate: Option<bool>, direction: Direction) -> Truncate {
    match (truncate, direction) {
        (Some(true), Direction::Left) => Truncate::Left,
        (Some(true), Direction::Right) => Truncate::Right,
        (Some(false) | None, _) => Truncate::Refuse,
    }
}

/// A refusal in the peer's words.
pub(crate) struct Refused(Trouble);

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        Self(trouble)
    }
}

/// Error body of TEI.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: String,
    error_type: &'static str,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        refuse(self.0)
    }
}

/// The error in TEI's format.
pub(super) fn refuse(trouble: Trouble) -> Response {
    let (status, error_type, error, after) = match trouble {
        Trouble::Input(error) => (StatusCode::UNPROCESSABLE_ENTITY, "Validation", error, None),
        Trouble::Empty(error) => (StatusCode::BAD_REQUEST, "Empty", error, None),
        Trouble::NoModel(error) | Trouble::Unready(error) => {
            (StatusCode::SERVICE_UNAVAILABLE, "Unhealthy", error, Some(1))
        }
        Trouble::Busy(error, after) => (
            StatusCode::TOO_MANY_REQUESTS,
            "Overloaded",
            error,
            Some(after),
        ),
        Trouble::Failed(error) => (StatusCode::FAILED_DEPENDENCY, "Backend", error, None),
        Trouble::Rejected(status, error) => (status, "Validation", error, None),
    };
    retry_after(
        (status, Json(ErrorBody { error, error_type })).into_response(),
        after,
    )
}
