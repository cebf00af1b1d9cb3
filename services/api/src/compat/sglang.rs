//! `/compat/sglang`: the routes of SGLang's server, for its clients.
//!
//! The number of a reward model goes out as it is on every route. The peer's `/v1/classify` puts it
//! through a softmax of one, which is 1.0 whatever the reward. The field `model` is ignored, as
//! there: the default model answers.

pub(crate) mod native;
pub(crate) mod openai;

use http::StatusCode;

use super::reward::Trouble;

/// Status, message and seconds to wait of a refusal. Clients give up for good at a 4xx and come
/// back after a 5xx, so what is only busy is a 503.
fn told(trouble: Trouble) -> (StatusCode, String, Option<u64>) {
    match trouble {
        Trouble::Input(message) | Trouble::Empty(message) => {
            (StatusCode::BAD_REQUEST, message, None)
        }
        Trouble::NoModel(message) => (StatusCode::NOT_FOUND, message, None),
        Trouble::Unready(message) => (StatusCode::SERVICE_UNAVAILABLE, message, Some(1)),
        Trouble::Busy(message, after) => (StatusCode::SERVICE_UNAVAILABLE, message, Some(after)),
        Trouble::Failed(message) => (StatusCode::INTERNAL_SERVER_ERROR, message, None),
        Trouble::Rejected(status, message) => (status, message, None),
    }
}
