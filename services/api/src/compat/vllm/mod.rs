//! `/compat/vllm`: the routes of vLLM's pooling server, for its clients.
//!
//! The raw score of a reward model is returned unless the request contains `use_activation: true`.
//! vLLM applies a sigmoid by default and ignores the field's older name, `activation`; both names
//! are accepted here. As in vLLM, a softmax is applied to several classes by default. Unsupported
//! fields that would change a number are rejected instead of ignored.

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

use super::peer_error::{PeerError, error_kind, retry_after};
use super::reward::{Activation, ModelScores, Usage, resolve};
use crate::Api;

/// Fields of all requests. As in vLLM, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = VllmBasics)]
pub(super) struct CommonFields {
    /// Name or source of a model of this node; the default model if omitted.
    #[serde(default)]
    model: Option<String>,
    /// Whether to apply a sigmoid to a single number; a softmax is applied to several unless this
    /// is false.
    #[serde(default)]
    use_activation: Option<bool>,
    /// Name of `use_activation` before vLLM 0.11.2, which verl sends.
    #[serde(default)]
    activation: Option<bool>,
    /// Removed from vLLM, which rejects it.
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

/// The validated fields.
pub(super) struct RequestOptions {
    /// Name of the model on this node.
    model: Option<String>,
    activation: Activation,
    truncate: Truncate,
}

impl CommonFields {
    fn validate(self, api: &Api) -> Result<RequestOptions, PeerError> {
        if self.normalize.is_some() {
            return Err(PeerError::Input(
                "Parameter `normalize` was removed; use `use_activation` instead.".to_owned(),
            ));
        }
        let truncate = match (self.truncate_prompt_tokens, self.truncation_side) {
            (None, _) => Truncate::Reject,
            // vLLM's default removes the first tokens, which keeps the end of the answer.
            (Some(-1), None | Some(Side::Left)) => Truncate::Left,
            (Some(-1), Some(Side::Right)) => Truncate::Right,
            (Some(_), _) => {
                let message = "`truncate_prompt_tokens` must be -1, which truncates to the \
                               model's maximum length, or omitted";
                return Err(PeerError::Input(message.to_owned()));
            }
        };
        Ok(RequestOptions {
            model: resolve(api, self.model)?,
            activation: Activation::from_field(self.use_activation.or(self.activation)),
            truncate,
        })
    }
}

/// A list of results, the format of most of vLLM's replies.
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
    fn reply(answer: &ModelScores, (id, created): (String, u64), data: Vec<T>) -> Response {
        let model = answer.model.name.clone();
        answer.reply(Json(Self {
            id,
            object: "list",
            created,
            model,
            data,
            usage: Usage::new(answer),
        }))
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

/// The error in vLLM's format.
pub(super) fn error_response(error: PeerError) -> Response {
    let (status, message, after) = error.parts(StatusCode::BAD_REQUEST);
    let error = ErrorInfo {
        message,
        kind: error_kind(status),
        param: None,
        code: status.as_u16(),
    };
    retry_after((status, Json(ErrorBody { error })).into_response(), after)
}
