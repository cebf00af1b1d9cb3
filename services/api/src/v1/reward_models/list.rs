//! `GET /v1/reward-models`: the reward models and their states.

use assay_core::reward_model::ModelError;
use assay_wire::ProblemBody;
use assay_wire::reward_models::{RewardModelBody, RewardModelsBody};
use axum::Json;

use super::check_name;
use crate::Api;
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Lists the reward models of the node, by name.
#[utoipa::path(get, path = "/v1/reward-models", tag = "reward models", responses(
    (status = 200, description = "The models", body = RewardModelsBody),
))]
pub(crate) async fn list(api: Api) -> Json<RewardModelsBody> {
    Json(RewardModelsBody {
        reward_models: api
            .models()
            .list()
            .iter()
            .map(RewardModelBody::from)
            .collect(),
    })
}

/// Returns one reward model of the node.
#[utoipa::path(get, path = "/v1/reward-models/{name}", tag = "reward models",
    params(("name" = String, Path, description = "Name of the model",
                pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    responses(
        (status = 200, description = "The model", body = RewardModelBody),
        (status = 404, description = "No reward model has this name", body = ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    PathParameter(name): PathParameter,
) -> ApiResult<Json<RewardModelBody>> {
    check_name(&name)?;
    let models = api.models().list();
    let Some(status) = models.iter().find(|status| status.name == name) else {
        return Err(unknown_model(&name).into());
    };
    Ok(Json(RewardModelBody::from(status)))
}

/// The error for a name that no model has.
pub(super) fn unknown_model(name: &str) -> ModelError {
    ModelError::Unknown(format!(
        "no reward model is named `{name}`; `GET /v1/reward-models` lists the models"
    ))
}
