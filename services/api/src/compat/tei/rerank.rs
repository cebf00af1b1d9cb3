//! `POST /compat/tei/rerank`: texts ranked by relevance to a query.

use assay_core::reward_model::ModelInput;
use axum::Json;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Direction, truncation};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::PeerError;
use crate::compat::reward::score_inputs;

/// The request. As in text-embeddings-inference, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = TeiRerankRequest)]
struct RerankRequest {
    query: String,
    #[schema(min_items = 1)]
    texts: Vec<String>,
    #[serde(default)]
    truncate: Option<bool>,
    #[serde(default)]
    truncation_direction: Direction,
    #[serde(default)]
    raw_scores: bool,
    #[serde(default)]
    return_text: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TeiRank)]
struct Rank {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    score: f32,
}

/// Ranks texts, in the format of text-embeddings-inference.
#[utoipa::path(post, path = "/compat/tei/rerank", tag = "compatibility",
    request_body(content = RerankRequest, content_type = "application/json", example = json!({
        "query": "What is 1/6 + 1/6?", "texts": ["It is 1/3.", "It is 2/12."], "raw_scores": true,
    })),
    responses(
        (status = 200, description = "Ranks, best first", body = Vec<Rank>),
    ))]
pub(crate) async fn rerank(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, _permit) = body
        .lenient_json::<RerankRequest>(&api, BodyKind::Batch)
        .await?;
    let truncate = truncation(request.truncate, request.truncation_direction);
    let query: std::sync::Arc<str> = request.query.into();
    let pairs = request
        .texts
        .iter()
        .map(|text| ModelInput::Pair(query.clone(), text.as_str().into()));
    let answer = score_inputs(&api, None, pairs.collect(), truncate).await?;
    let scores = answer.raw_scores(!request.raw_scores)?;
    let texts = request
        .texts
        .into_iter()
        .map(|text| request.return_text.then_some(text));
    let ranks = scores
        .into_iter()
        .zip(texts)
        .enumerate()
        .map(|(index, (score, text))| Rank { index, text, score });
    let mut ranks: Vec<_> = ranks.collect();
    ranks.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ok(answer.reply(Json(ranks)))
}
