//! `POST /compat/vllm/score` and `/v1/score`: a number a pair of texts.

use std::sync::Arc;

use assay_core::Completion;
use assay_core::reward_model::ModelInput;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Basics, List, Refused, Wishes};
use crate::Api;
use crate::compat::reward::{Activation, Answer, Texts, Trouble, ask, read, stamp};
use crate::error::ApiError;

/// The two sides, under any of the names the peer knows them by.
#[derive(Deserialize, ToSchema)]
#[schema(as = VllmScoreRequest)]
struct ScoreRequest {
    #[serde(flatten)]
    basics: Basics,
    /// One text, or as many as `text_2` has; also read as `queries` or `data_1`.
    #[serde(alias = "queries", alias = "data_1")]
    text_1: Texts,
    /// Also read as `documents`, `items` or `data_2`.
    #[serde(alias = "documents", alias = "items", alias = "data_2")]
    text_2: Texts,
}

/// A text of each side.
pub(super) type Sides = (Arc<str>, Arc<str>);

#[derive(Serialize, ToSchema)]
#[schema(as = VllmScored)]
struct Scored {
    index: usize,
    object: &'static str,
    score: f32,
}

/// Numbers of pairs of texts, in vLLM's format.
#[utoipa::path(post, path = "/compat/vllm/score", tag = "compatibility",
    request_body(content = ScoreRequest, content_type = "application/json", example = json!({
        "model": "reranker", "text_1": "What is 1/6 + 1/6?", "text_2": ["It is 1/3.", "It is 2/12."],
    })),
    responses(
        (status = 200, description = "One number for each pair, in `data[].score`", body = List<Scored>),
    ))]
pub(crate) async fn score(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let (request, _held) = read::<ScoreRequest>(&api, &headers, body).await?;
    let wishes = request.basics.check(&api)?;
    let pairs = paired(request.text_1.into_list(), request.text_2.into_list())?;
    let (answer, numbers) = compare(&api, wishes, pairs).await?;
    let scored = numbers.into_iter().enumerate();
    let data = scored
        .map(|(index, score)| Scored {
            index,
            object: "score",
            score,
        })
        .collect();
    Ok(List::reply(&answer, stamp(&api, "embd"), data))
}

/// The same under the peer's other path.
#[utoipa::path(post, path = "/compat/vllm/v1/score", tag = "compatibility",
    request_body(content = ScoreRequest, content_type = "application/json"),
    responses((status = 200, description = "As `/compat/vllm/score`", body = List<Scored>)))]
pub(crate) async fn v1_score(
    state: State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    score(state, headers, body).await
}

/// One text on the left stands beside each on the right; else both sides are as long.
fn paired(left: Vec<String>, right: Vec<String>) -> Result<Vec<Sides>, Trouble> {
    let mut left: Vec<Arc<str>> = left.into_iter().map(Arc::from).collect();
    if let [query] = left.as_slice() {
        left = vec![Arc::clone(query); right.len()];
    }
    if left.len() != right.len() {
        return Err(Trouble::Input(format!(
            "{} texts stand against {}; send one, or as many as on the other side",
            left.len(),
            right.len()
        )));
    }
    Ok(left
        .into_iter()
        .zip(right.into_iter().map(Arc::from))
        .collect())
}

/// A number a pair: of a model that reads pairs, or the cosine of two embeddings.
pub(super) async fn compare(
    api: &Api,
    wishes: Wishes,
    pairs: Vec<Sides>,
) -> Result<(Answer, Vec<f32>), Trouble> {
    let Wishes {
        model,
        activation,
        truncate,
    } = wishes;
    let known = api
        .models()
        .find(model.as_deref())
        .map_err(|error| Trouble::from(ApiError::from(error)))?;
    let embeds = known.head == "embedding";
    let input = |(one, other): Sides| {
        if embeds {
            let completion = Completion::Text(other);
            ModelInput::Rollout {
                prompt: None,
                completion,
                reference: Some(one),
            }
        } else {
            ModelInput::Pair(one, other)
        }
    };
    let answer = ask(api, model, pairs.into_iter().map(input).collect(), truncate).await?;
    let numbers = answer.numbers(activation == Activation::On)?;
    Ok((answer, numbers))
}
