//! `GET /v1/reward-models`: which there are, and how they are.

use assay_core::reward_model::ModelError;
use assay_wire::ProblemBody;
use assay_wire::reward_models::{RewardModelBody, RewardModelsBody};
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};

use super::path_name;
use crate::Api;
use crate::error::ApiResult;

/// The reward models of this node, by name.
#[utoipa::path(get, path = "/v1/reward-models", tag = "reward models", responses(
    (status = 200, description = "The models", body = RewardModelsBody),
))]
pub(crate) async fn list(State(api): State<Api>) -> Json<RewardModelsBody> {
    Json(RewardModelsBody {
        reward_models: api
            .models()
            .list()
            .iter()
            .map(RewardModelBody::from)
            .collect(),
    })
}

/// One reward model of this node.
#[utoipa::path(get, path = "/v1/reward-models/{name}", tag = "reward models",
    params(("name" = String, Path, description = "Name of the model", pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    responses(
        (status = 200, description = "The model", body = RewardModelBody),
        (status = 404, description = "No reward model has this name", body = ProblemBody),
    ))]
pub(crate) async fn get(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
) -> ApiResult<Json<RewardModelBody>> {
    let name = path_name(path)?;
    let known = api.models().list();
    let Some(status) = known.iter().find(|status| status.name == name) else {
        return Err(unknown(&name).into());
    };
    Ok(Json(RewardModelBody::from(status)))
}

/// No model has this name.
pub(super) fn unknown(name: &str) -> ModelError {
    ModelError::Unknown(format!(
        "no reward model is named `{name}`; `GET /v1/reward-models` lists those there are"
    ))
}
