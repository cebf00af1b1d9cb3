//! `GET /compat/vllm/v1/models` and `/health`: the models, and whether one is ready.

use assay_core::reward_model::ModelState;
use axum::Json;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::Api;
use crate::compat::peer_error::PeerError;
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

/// Lists the models that are ready, in the format of vLLM and OpenAI.
#[utoipa::path(get, path = "/compat/vllm/v1/models", tag = "compatibility", responses(
    (status = 200, description = "The models", body = Models),
))]
pub(crate) async fn models(api: Api) -> Json<Models> {
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

/// Reports whether a model is ready, in vLLM's format.
#[utoipa::path(get, path = "/compat/vllm/health", tag = "compatibility", responses(
    (status = 200, description = "A model is ready"),
))]
pub(crate) async fn health(api: Api) -> Result<(), PeerError> {
    api.models()
        .find(None)
        .map_err(|error| PeerError::NotReady(ApiError::from(error).problem().to_string()))?;
    Ok(())
}
