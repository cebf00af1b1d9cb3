//! `/compat/vllm`: the routes of vLLM's pooling server, for its clients.
//!
//! The one number of a reward model goes out as it is unless the request says `use_activation:
//! true`. The peer puts it through a sigmoid by default, and a client that opts out by the field's
//! older name, `activation`, goes unheard there: both are read here. Several classes go through a
//! softmax by default, as there. What this cannot do is refused, never left unread, where it would
//! change a number.

pub(crate) mod classify;
pub(crate) mod models;
pub(crate) mod pooling;
pub(crate) mod rerank;
pub(crate) mod score;

use assay_core::reward_model::Truncate;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::reward::{Activation, Answer, Trouble, Usage, resolve, retry_after};
use crate::Api;

/// What every request of the peer may say. Other fields are ignored, as the peer does.
#[derive(Deserialize, ToSchema)]
#[schema(as = VllmBasics)]
pub(super) struct Basics {
    /// Name or source of a model of this node; the default model when absent.
    #[serde(default)]
    model: Option<String>,
    /// Whether to apply a sigmoid to a single number; a softmax is applied to several unless this
    /// is false.
    #[serde(default)]
    use_activation: Option<bool>,
    /// The field's name before vLLM 0.11.2; verl sends it.
    #[serde(default)]
    activation: Option<bool>,
    /// Removed there, and refused there.
    #[serde(default)]
    #[schema(ignore)]
    normalize: Option<Value>,
    /// -1 truncates to the model's maximum length.
    #[serde(default)]
    #[schema(minimum = -1, maximum = -1)]
    truncate_prompt_tokens: Option<i64>,
    #[serde(default)]
    truncation_side: Option<Side>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = VllmTruncationSide)]
enum Side {
    Left,
    Right,
}

/// The same, checked.
pub(super) struct Wishes {
    /// Name of the model here.
    model: Option<String>,
    activation: Activation,
    truncate: Truncate,
}

impl Basics {
    fn check(self, api: &Api) -> Result<Wishes, Trouble> {
        if self.normalize.is_some() {
            return Err(Trouble::Input(
                "Parameter `normalize` was removed; use `use_activation` instead.".to_owned(),
            ));
        }
        let truncate = match (self.truncate_prompt_tokens, self.truncation_side) {
            (None, _) => Truncate::Refuse,
            // The peer's own default cuts the first tokens off, which keeps the answer's end.
            (Some(-1), None | Some(Side::Left)) => Truncate::Left,
            (Some(-1), Some(Side::Right)) => Truncate::Right,
            (Some(_), _) => {
                let message = "`truncate_prompt_tokens` is -1, which cuts to what the model \
                               reads, or left out";
                return Err(Trouble::Input(message.to_owned()));
            }
        };
        Ok(Wishes {
            model: resolve(api, self.model)?,
            activation: Activation::asked(self.use_activation.or(self.activation)),
            truncate,
        })
    }
}

/// A list of results, as most of the peer's replies are.
#[derive(Serialize, ToSchema)]
#[schema(as = VllmList)]
struct List<T> {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    data: Vec<T>,
    usage: Usage,
}

impl<T: Serialize> List<T> {
    fn reply(answer: &Answer, (id, created): (String, u64), data: Vec<T>) -> Response {
        let model = answer.model.name.clone();
        answer.reply(Json(Self {
            id,
            object: "list",
            created,
            model,
            data,
            usage: Usage::of(answer),
        }))
    }
}

/// A refusal in the peer's words.
pub(crate) struct Refused(Trouble);

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        Self(trouble)
    }
}

/// Error body of vLLM.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    #[schema(inline)]
    error: ErrorInfo,
}

#[derive(Serialize, ToSchema)]
struct ErrorInfo {
    message: String,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<String>,
    code: u16,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        refuse(self.0)
    }
}

/// The error in vLLM's format.
pub(super) fn refuse(trouble: Trouble) -> Response {
    // Clients do not retry a 4xx but retry a 5xx, so a busy node returns 503.
    let (status, kind, message, after) = match trouble {
        Trouble::Input(message) | Trouble::Empty(message) => {
            (StatusCode::BAD_REQUEST, "BadRequestError", message, None)
        }
        Trouble::NoModel(message) => (StatusCode::NOT_FOUND, "NotFoundError", message, None),
        Trouble::Unready(message) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailableError",
            message,
            Some(1),
        ),
        Trouble::Busy(message, after) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailableError",
            message,
            Some(after),
        ),
        Trouble::Failed(message) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalServerError",
            message,
            None,
        ),
        Trouble::Rejected(StatusCode::NOT_FOUND, message) => {
            (StatusCode::NOT_FOUND, "NotFoundError", message, None)
        }
        Trouble::Rejected(status, message) => (status, "BadRequestError", message, None),
    };
    let error = ErrorInfo {
        message,
        kind,
        param: None,
        code: status.as_u16(),
    };
    retry_after((status, Json(ErrorBody { error })).into_response(), after)
}
