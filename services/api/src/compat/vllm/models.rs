//! `GET /compat/vllm/v1/models` and `/health`: what is served, and whether it answers.

use assay_core::reward_model::ModelState;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Refused;
use crate::Api;
use crate::compat::reward::Trouble;
use crate::error::ApiError;

#[derive(Serialize, ToSchema)]
#[schema(as = VllmModels)]
pub(crate) struct Models {
    object: &'static str,
    data: Vec<Card>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VllmModel)]
struct Card {
    id: String,
    object: &'static str,
    created: i64,
    owned_by: &'static str,
    root: String,
    parent: Option<String>,
    max_model_len: usize,
    #[schema(value_type = Vec<Value>, max_items = 0)]
    permission: [Value; 0],
}

/// The models that answer, in the format of vLLM and OpenAI.
#[utoipa::path(get, path = "/compat/vllm/v1/models", tag = "compatibility", responses(
    (status = 200, description = "The models", body = Models),
))]
pub(crate) async fn models(State(api): State<Api>) -> Json<Models> {
    let ready = api
        .models()
        .list()
        .into_iter()
        .filter(|status| status.state == ModelState::Ready);
    let cards = ready.filter_map(|status| {
        let model = status.info?;
        Some(Card {
            id: status.name,
            object: "model",
            created: model.loaded_us / 1_000_000,
            owned_by: "assay",
            root: model.source.clone(),
            parent: None,
            max_model_len: model.max_tokens,
            permission: [],
        })
    });
    Json(Models {
        object: "list",
        data: cards.collect(),
    })
}

/// Whether a model answers, as vLLM says it.
#[utoipa::path(get, path = "/compat/vllm/health", tag = "compatibility", responses(
    (status = 200, description = "One does"),
))]
pub(crate) async fn health(State(api): State<Api>) -> Result<(), Refused> {
    api.models()
        .find(None)
        .map_err(|error| Trouble::Unready(ApiError::from(error).problem().to_string()))?;
    Ok(())
}
