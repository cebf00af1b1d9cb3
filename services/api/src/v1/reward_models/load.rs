//! `PUT` and `DELETE /v1/reward-models/{name}`: which model a name stands for.

use assay_core::reward_model::{ModelState, ModelStatus};
use assay_wire::ProblemBody;
use assay_wire::reward_models::{LoadRequest, ModelBody, UnloadedBody};
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use http::HeaderMap;

use super::path_name;
use crate::error::ApiResult;
use crate::{Api, body};

/// Loads a model under a name, or replaces the one there, and answers when it is ready. Requests go on meanwhile, each with one
/// version; when loading fails, the present model stays.
#[utoipa::path(put, path = "/v1/reward-models/{name}", tag = "reward models", request_body = LoadRequest,
    params(("name" = String, Path, description = "Name of the model")),
    responses(
        (status = 200, description = "The model, ready", body = ModelBody),
        (status = 400, description = "The name is none, or the body is no JSON", body = ProblemBody),
        (status = 404, description = "No model has this name, and no source was given", body = ProblemBody),
        (status = 422, description = "A field is wrong, or the source cannot be loaded", body = ProblemBody),
        (status = 503, description = "Shutting down", body = ProblemBody),
    ))]
pub(crate) async fn load(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<ModelBody>> {
    let name = path_name(path)?;
    let request: LoadRequest = body::json(&api, &headers, body).await?;
    match api.models().load(name.clone(), request.into()).await {
        Ok(model) => Ok(Json(ModelBody::from(model.as_ref()))),
        Err(error) => {
            give_up(&api, &name);
            Err(error.into())
        }
    }
}

/// Takes a name away that never had a model: a slip in a request leaves nothing behind.
fn give_up(api: &Api, name: &str) {
    let empty = |status: &ModelStatus| status.state == ModelState::Failed && status.info.is_none();
    if api.models().list().iter().any(|status| status.name == name && empty(status)) {
        // Another request may have been quicker.
        let _ = api.models().unload(name);
    }
}

/// Takes a model away. What waits for it is still answered; its pairs stay.
#[utoipa::path(delete, path = "/v1/reward-models/{name}", tag = "reward models",
    params(("name" = String, Path, description = "Name of the model")),
    responses(
        (status = 200, description = "It is gone", body = UnloadedBody),
        (status = 404, description = "No reward model has this name", body = ProblemBody),
    ))]
pub(crate) async fn unload(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
) -> ApiResult<Json<UnloadedBody>> {
    let name = path_name(path)?;
    api.models().unload(&name)?;
    Ok(Json(UnloadedBody { unloaded: name }))
}
