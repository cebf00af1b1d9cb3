//! `POST /compat/vllm/rerank`, `/v1/rerank` and `/v2/rerank`: documents ranked by relevance to a
//! query.

use std::sync::Arc;

use axum::Json;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::CommonFields;
use super::score::score_pairs;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::PeerError;
use crate::compat::reward::{Texts, new_reply_id};

#[derive(Deserialize, ToSchema)]
#[schema(as = VllmRerankRequest)]
struct RerankRequest {
    #[serde(flatten)]
    common: CommonFields,
    query: String,
    documents: Texts,
    /// Number of results; 0 for all.
    #[serde(default)]
    top_n: usize,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VllmReranked)]
struct Reranked {
    id: String,
    model: String,
    usage: Usage,
    results: Vec<Ranked>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VllmRerankUsage)]
struct Usage {
    prompt_tokens: u64,
    total_tokens: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VllmRanked)]
struct Ranked {
    index: usize,
    document: Document,
    relevance_score: f32,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VllmDocument)]
struct Document {
    #[schema(value_type = String)]
    text: Arc<str>,
    #[schema(value_type = Option<()>)]
    multi_modal: Option<Value>,
}

/// Ranks documents by relevance, in vLLM's format, which is also the format of Jina and Cohere.
#[utoipa::path(post, path = "/compat/vllm/rerank", tag = "compatibility",
    request_body(content = RerankRequest, content_type = "application/json", example = json!({
        "model": "reranker", "query": "What is 1/6 + 1/6?",
        "documents": ["It is 1/3.", "It is 2/12."], "top_n": 1,
    })),
    responses(
        (status = 200, description = "Documents, best first", body = Reranked),
    ))]
pub(crate) async fn rerank(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (
        RerankRequest {
            common,
            query,
            documents,
            top_n,
        },
        _permit,
    ) = body.lenient_json(&api, BodyKind::Batch).await?;
    let query: Arc<str> = query.into();
    let documents: Vec<Arc<str>> = documents.into_list().into_iter().map(Arc::from).collect();
    let pairs = documents
        .iter()
        .map(|document| (query.clone(), document.clone()))
        .collect();
    let (answer, scores) = score_pairs(&api, common.validate(&api)?, pairs).await?;
    let ranked =
        scores
            .into_iter()
            .zip(documents)
            .enumerate()
            .map(|(index, (relevance_score, text))| Ranked {
                index,
                document: Document {
                    text,
                    multi_modal: None,
                },
                relevance_score,
            });
    let mut results: Vec<_> = ranked.collect();
    results.sort_by(|one, other| other.relevance_score.total_cmp(&one.relevance_score));
    if top_n > 0 {
        results.truncate(top_n);
    }
    let (id, _) = new_reply_id(&api, "rerank");
    let tokens = answer.tokens();
    let usage = Usage {
        prompt_tokens: tokens,
        total_tokens: tokens,
    };
    Ok(answer.reply(Json(Reranked {
        id,
        model: answer.model.name.clone(),
        usage,
        results,
    })))
}

/// Ranks documents by relevance, under the second path of vLLM.
#[utoipa::path(post, path = "/compat/vllm/v1/rerank", tag = "compatibility",
    request_body(content = RerankRequest, content_type = "application/json"),
    responses((status = 200, description = "As `/compat/vllm/rerank`", body = Reranked)))]
pub(crate) async fn v1_rerank(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    rerank(api, body).await
}

/// Ranks documents by relevance, under the third path of vLLM.
#[utoipa::path(post, path = "/compat/vllm/v2/rerank", tag = "compatibility",
    request_body(content = RerankRequest, content_type = "application/json"),
    responses((status = 200, description = "As `/compat/vllm/rerank`", body = Reranked)))]
pub(crate) async fn v2_rerank(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    rerank(api, body).await
}
