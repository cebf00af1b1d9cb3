//! `PUT` and `DELETE /v1/reward-models/{name}`: which model a name stands for.

use assay_core::ErrorCode;
use assay_core::reward_model::{ModelState, ModelStatus};
use assay_wire::reward_models::{LoadRequest, ModelBody, UnloadedBody};
use assay_wire::{Problem, ProblemBody};
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use http::HeaderMap;
use serde_json::Value;

use super::path_name;
use crate::Api;
use crate::body::{self, BodyKind};
use crate::error::ApiResult;

/// Loads a model under a name, or replaces the one there, and answers when it is ready. Requests go
/// on meanwhile, each with one version; when loading fails, the present model stays.
#[utoipa::path(put, path = "/v1/reward-models/{name}", tag = "reward models", request_body = LoadRequest,
    params(("name" = String, Path, description = "Name of the model", pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    responses(
        (status = 200, description = "The model, ready", body = ModelBody),
        (status = 404, description = "No model has this name, and no source was given", body = ProblemBody),
    ))]
pub(crate) async fn load(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<ModelBody>> {
    let name = path_name(path)?;
    let (request, _held) =
        body::json::<LoadRequest>(&api, &headers, body, BodyKind::Settings).await?;
    refuse_templates(&request)?;
    match api.models().load(name.clone(), request.into()).await {
        Ok(model) => Ok(Json(ModelBody::from(model.as_ref()))),
        Err(error) => {
            give_up(&api, &name);
            Err(error.into())
        }
    }
}

/// Templates are programs without a bound on memory: they come from the operator, not from
/// requests.
fn refuse_templates(request: &LoadRequest) -> Result<(), Problem> {
    let options = request.options.iter().flatten();
    let mut programs = options.filter(|(name, _)| matches!(name.as_str(), "template" | "question"));
    // The named ones are formats, not programs.
    let known = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| matches!(text, "chat" | "text" | "verify_rm"))
    };
    match programs.find(|(_, value)| !known(value)) {
        Some((name, _)) => {
            let message = "templates do not come over HTTP: declare it in `assay.json` beside the \
                           weights, or in the configuration";
            Err(Problem::at(
                ErrorCode::InvalidField,
                format!("/options/{name}"),
                message,
            ))
        }
        None => Ok(()),
    }
}

/// Takes a name away that never had a model: a slip in a request leaves nothing behind.
fn give_up(api: &Api, name: &str) {
    let empty = |status: &ModelStatus| status.state == ModelState::Failed && status.info.is_none();
    if api
        .models()
        .list()
        .iter()
        .any(|status| status.name == name && empty(status))
    {
        // Another request may have been quicker.
        let _ = api.models().unload(name);
    }
}

/// Takes a model away. What waits for it is still answered; its pairs stay.
#[utoipa::path(delete, path = "/v1/reward-models/{name}", tag = "reward models",
    params(("name" = String, Path, description = "Name of the model", pattern = "^[A-Za-z0-9_.-]{1,64}$")),
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
