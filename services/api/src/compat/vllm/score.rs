//! `POST /compat/vllm/score` and `/v1/score`: one score for each pair of texts.

use std::sync::Arc;

use assay_core::Completion;
use assay_core::reward_model::ModelInput;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CommonFields, List, RequestOptions};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::PeerError;
use crate::compat::reward::{Activation, ModelScores, Texts, new_reply_id, score_inputs};
use crate::error::ApiError;

/// The texts, under any of the names that vLLM accepts.
#[derive(Deserialize, ToSchema)]
#[schema(as = VllmScoreRequest)]
struct ScoreRequest {
    #[serde(flatten)]
    common: CommonFields,
    /// One text, or as many as in `text_2`; also accepted as `queries` or `data_1`.
    #[serde(alias = "queries", alias = "data_1")]
    text_1: Texts,
    /// The second texts; also accepted as `documents`, `items` or `data_2`.
    #[serde(alias = "documents", alias = "items", alias = "data_2")]
    text_2: Texts,
}

/// The first and the second text.
pub(super) type TextPair = (Arc<str>, Arc<str>);

#[derive(Serialize, ToSchema)]
#[schema(as = VllmScored)]
struct Scored {
    index: usize,
    object: &'static str,
    score: f32,
}

/// Scores pairs of texts, in vLLM's format.
#[utoipa::path(post, path = "/compat/vllm/score", tag = "compatibility",
    request_body(content = ScoreRequest, content_type = "application/json", example = json!({
        "model": "reranker", "text_1": "What is 1/6 + 1/6?",
        "text_2": ["It is 1/3.", "It is 2/12."],
    })),
    responses(
        (status = 200, description = "One score for each pair, in `data[].score`",
         body = List<Scored>),
    ))]
pub(crate) async fn score(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, _permit) = body
        .lenient_json::<ScoreRequest>(&api, BodyKind::Batch)
        .await?;
    let options = request.common.validate(&api)?;
    let pairs = pair_texts(request.text_1.into_list(), request.text_2.into_list())?;
    let (answer, scores) = score_pairs(&api, options, pairs).await?;
    let scored = scores.into_iter().enumerate();
    let data = scored
        .map(|(index, score)| Scored {
            index,
            object: "score",
            score,
        })
        .collect();
    Ok(List::reply(&answer, new_reply_id(&api, "embd"), data))
}

/// Scores pairs of texts, under the second path of vLLM.
#[utoipa::path(post, path = "/compat/vllm/v1/score", tag = "compatibility",
    request_body(content = ScoreRequest, content_type = "application/json"),
    responses((status = 200, description = "As `/compat/vllm/score`", body = List<Scored>)))]
pub(crate) async fn v1_score(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    score(api, body).await
}

/// Pairs the texts. A single text on the left is paired with each on the right; otherwise both
/// lists must have the same length.
fn pair_texts(left: Vec<String>, right: Vec<String>) -> Result<Vec<TextPair>, PeerError> {
    let mut left: Vec<Arc<str>> = left.into_iter().map(Arc::from).collect();
    if let [query] = left.as_slice() {
        left = vec![Arc::clone(query); right.len()];
    }
    if left.len() != right.len() {
        return Err(PeerError::Input(format!(
            "`text_1` has {} texts and `text_2` has {}; send one text in `text_1`, or as many as \
             in `text_2`",
            left.len(),
            right.len()
        )));
    }
    Ok(left
        .into_iter()
        .zip(right.into_iter().map(Arc::from))
        .collect())
}

/// Scores each pair, by a model that scores pairs or by the cosine of two embeddings.
pub(super) async fn score_pairs(
    api: &Api,
    options: RequestOptions,
    pairs: Vec<TextPair>,
) -> Result<(ModelScores, Vec<f32>), PeerError> {
    let RequestOptions {
        model,
        activation,
        truncate,
    } = options;
    let info = api
        .models()
        .find(model.as_deref())
        .map_err(|error| PeerError::from(ApiError::from(error)))?;
    let embeds = info.head == "embedding";
    let input = |(first, second): TextPair| {
        if embeds {
            let completion = Completion::Text(second);
            ModelInput::Rollout {
                prompt: None,
                completion,
                reference: Some(first),
            }
        } else {
            ModelInput::Pair(first, second)
        }
    };
    let answer = score_inputs(api, model, pairs.into_iter().map(input).collect(), truncate).await?;
    let scores = answer.raw_scores(activation == Activation::On)?;
    Ok((answer, scores))
}
