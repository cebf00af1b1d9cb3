//! `POST /compat/openrlhf/get_reward`: the route of OpenRLHF's `serve_rm`, for `--remote_rm_url`.
//!
//! A query is a whole text, prompt and response with the special tokens of the chat template. As
//! there, none is added, and the text ends in exactly one end-of-sequence token. Unlike there, a
//! query that is too long is refused: cut on the right it would lose the answer.
//!
//! With several URLs, the client sends its only query to the first and an empty list to the others.
//! It uses only the first reply, but retries every request that fails and then drops the reward. An
//! empty list is therefore answered with empty lists, without asking a model.

use assay_core::reward_model::{ModelInput, Truncate};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::reward::{Trouble, ask, read, retry_after};
use crate::Api;

/// The request. Other fields, as `prompts` and `labels`, are ignored, as the peer does.
#[derive(Deserialize, ToSchema)]
#[schema(as = OpenRlhfRequest)]
struct RewardRequest {
    /// Whole texts, prompt and response.
    query: Vec<String>,
}

#[derive(Default, Serialize, ToSchema)]
#[schema(as = OpenRlhfReply)]
struct RewardReply {
    /// Raw numbers.
    rewards: Vec<f32>,
    /// What the client filters prompts by: the normalised score where the model declares one, else
    /// the raw number.
    scores: Vec<f32>,
    extra_logs: ExtraLogs,
}

#[derive(Default, Serialize, ToSchema)]
#[schema(as = OpenRlhfExtraLogs)]
struct ExtraLogs {
    dummy_scores: Vec<f32>,
}

/// A refusal in the peer's words.
pub(crate) struct Refused(Trouble);

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        Self(trouble)
    }
}

/// Error body of OpenRLHF.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    detail: String,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        refuse(self.0)
    }
}

/// The error in OpenRLHF's format.
pub(super) fn refuse(trouble: Trouble) -> Response {
    let (status, detail, after) = match trouble {
        Trouble::Input(detail) | Trouble::Empty(detail) => {
            (StatusCode::UNPROCESSABLE_ENTITY, detail, None)
        }
        Trouble::NoModel(detail) => (StatusCode::NOT_FOUND, detail, None),
        Trouble::Unready(detail) => (StatusCode::SERVICE_UNAVAILABLE, detail, Some(1)),
        Trouble::Busy(detail, after) => (StatusCode::SERVICE_UNAVAILABLE, detail, Some(after)),
        Trouble::Failed(detail) => (StatusCode::INTERNAL_SERVER_ERROR, detail, None),
        Trouble::Rejected(status, detail) => (status, detail, None),
    };
    retry_after((status, Json(ErrorBody { detail })).into_response(), after)
}

/// Rewards of whole texts, in OpenRLHF's format.
#[utoipa::path(post, path = "/compat/openrlhf/get_reward", tag = "compatibility",
    request_body(content = RewardRequest, content_type = "application/json", example = json!({
        "query": ["<|im_start|>user\nWhat is 1/6 + 1/6?<|im_end|>\n<|im_start|>assistant\nIt is \
                   1/3.<|im_end|>"],
        "prompts": ["What is 1/6 + 1/6?"], "labels": ["1/3"],
    })),
    responses(
        (status = 200, description = "One raw number for each query", body = RewardReply),
    ))]
pub(crate) async fn get_reward(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let (RewardRequest { query }, _held) = read(&api, &headers, body).await?;
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
    let answer = ask(&api, None, inputs, Truncate::Refuse).await?;
    let rewards = answer.numbers(false)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a score as precise as its raw number"
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
