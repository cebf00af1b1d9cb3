//! `POST /compat/openrlhf/get_reward`: the route of OpenRLHF's `serve_rm`, for `--remote_rm_url`.
//!
//! A query is a complete text, prompt and response with the special tokens of the chat template. As
//! in OpenRLHF, no special tokens are added, and the text ends with exactly one end-of-sequence
//! token. Unlike in OpenRLHF, a query that is too long is rejected, because truncation on the right
//! would remove the answer.
//!
//! With several URLs, the client sends its only query to the first and an empty list to the others.
//! It uses only the first reply, but retries every request that fails and then drops the reward. An
//! empty list is therefore answered with empty lists, without a model.

use assay_core::reward_model::{ModelInput, Truncate};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::reward::{PeerError, read, retry_after, score_inputs};
use crate::Api;

/// The request. As in OpenRLHF, other fields such as `prompts` and `labels` are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = OpenRlhfRequest)]
struct RewardRequest {
    /// Complete texts, prompt and response.
    query: Vec<String>,
}

#[derive(Default, Serialize, ToSchema)]
#[schema(as = OpenRlhfReply)]
struct RewardReply {
    /// Raw scores.
    rewards: Vec<f32>,
    /// Scores by which the client filters prompts: the normalised score if the model has one,
    /// otherwise the raw score.
    scores: Vec<f32>,
    extra_logs: ExtraLogs,
}

#[derive(Default, Serialize, ToSchema)]
#[schema(as = OpenRlhfExtraLogs)]
struct ExtraLogs {
    dummy_scores: Vec<f32>,
}

/// An error in OpenRLHF's format.
pub(crate) struct ErrorResponse(PeerError);

impl From<PeerError> for ErrorResponse {
    fn from(error: PeerError) -> Self {
        Self(error)
    }
}

/// Error body of OpenRLHF.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    detail: String,
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        error_response(self.0)
    }
}

/// The error in OpenRLHF's format.
pub(super) fn error_response(error: PeerError) -> Response {
    let (status, detail, after) = match error {
        PeerError::Input(detail) | PeerError::Empty(detail) => {
            (StatusCode::UNPROCESSABLE_ENTITY, detail, None)
        }
        PeerError::UnknownModel(detail) => (StatusCode::NOT_FOUND, detail, None),
        PeerError::NotReady(detail) => (StatusCode::SERVICE_UNAVAILABLE, detail, Some(1)),
        PeerError::Busy(detail, after) => (StatusCode::SERVICE_UNAVAILABLE, detail, Some(after)),
        PeerError::Failed(detail) => (StatusCode::INTERNAL_SERVER_ERROR, detail, None),
        PeerError::Rejected(status, detail) => (status, detail, None),
    };
    retry_after((status, Json(ErrorBody { detail })).into_response(), after)
}

/// Scores complete texts, in OpenRLHF's format.
#[utoipa::path(post, path = "/compat/openrlhf/get_reward", tag = "compatibility",
    request_body(content = RewardRequest, content_type = "application/json", example = json!({
        "query": ["<|im_start|>user\nWhat is 1/6 + 1/6?<|im_end|>\n<|im_start|>assistant\nIt is \
                   1/3.<|im_end|>"],
        "prompts": ["What is 1/6 + 1/6?"], "labels": ["1/3"],
    })),
    responses(
        (status = 200, description = "One raw score for each query", body = RewardReply),
    ))]
pub(crate) async fn get_reward(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ErrorResponse> {
    let (RewardRequest { query }, _permit) = read(&api, &headers, body).await?;
    if query.is_empty() {
        return Ok(Json(RewardReply::default()).into_response());
    }
    let inputs = query
        .into_iter()
        .map(|text| ModelInput::Bare {
            text: text.into(),
            ended: true,
        })
        .collect();
    let answer = score_inputs(&api, None, inputs, Truncate::Reject).await?;
    let rewards = answer.raw_scores(false)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the raw score has the precision of an f32 too"
    )]
    let scores = answer
        .scores
        .iter()
        .zip(&rewards)
        .map(|(score, raw)| score.score.map_or(*raw, |score| score as f32))
        .collect();
    let extra_logs = ExtraLogs {
        dummy_scores: rewards.clone(),
    };
    Ok(answer.reply(Json(RewardReply {
        rewards,
        scores,
        extra_logs,
    })))
}
