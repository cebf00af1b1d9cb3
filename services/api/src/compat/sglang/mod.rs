//! `/compat/sglang`: the routes of SGLang's server, for its clients.
//!
//! All routes return the raw score of a reward model. SGLang's `/v1/classify` applies a softmax to
//! the single number, which is always 1.0. As in SGLang, the field `model` is ignored and the
//! default model is used.

pub(crate) mod native;
pub(crate) mod openai;

use http::StatusCode;

use super::reward::PeerError;

/// Status, message and seconds to wait of an error. Clients do not retry a 4xx but retry a 5xx, so
/// a busy node returns 503.
fn error_parts(error: PeerError) -> (StatusCode, String, Option<u64>) {
    match error {
        PeerError::Input(message) | PeerError::Empty(message) => {
            (StatusCode::BAD_REQUEST, message, None)
        }
        PeerError::UnknownModel(message) => (StatusCode::NOT_FOUND, message, None),
        PeerError::NotReady(message) => (StatusCode::SERVICE_UNAVAILABLE, message, Some(1)),
        PeerError::Busy(message, after) => (StatusCode::SERVICE_UNAVAILABLE, message, Some(after)),
        PeerError::Failed(message) => (StatusCode::INTERNAL_SERVER_ERROR, message, None),
        PeerError::Rejected(status, message) => (status, message, None),
    }
}
