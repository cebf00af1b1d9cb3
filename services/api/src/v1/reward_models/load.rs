//! `PUT` and `DELETE /v1/reward-models/{name}`: loads and unloads a model under a name.

use std::sync::Arc;

use assay_core::reward_model::{ModelState, ModelStatus};
use assay_wire::reward_models::{LoadRequest, ModelInfo, UnloadedBody};
use assay_wire::{Problem, ProblemBody};
use axum::Json;
use serde_json::{Value, json};

use super::check_name;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Loads a model under a name, or replaces the current model, and returns when it is ready. Other
/// requests continue meanwhile, each with one version of the model. If loading fails, the current
/// model stays.
#[utoipa::path(put, path = "/v1/reward-models/{name}", tag = "reward models",
    request_body = LoadRequest,
    params(("name" = String, Path, description = "Name of the model",
                pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    responses(
        (status = 200, description = "The loaded model", body = ModelInfo),
        (status = 404, description = "No model has this name, and the request has no source",
         body = ProblemBody),
        (status = 409, description = "The current model does not have the expected version",
         body = ProblemBody),
    ))]
pub(crate) async fn load(
    api: Api,
    PathParameter(name): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<Arc<ModelInfo>>> {
    check_name(&name)?;
    let (request, _permit) = body.json::<LoadRequest>(&api, BodyKind::Settings).await?;
    reject_templates(&request)?;
    let source = request.source.clone();
    match api.models().load(name.clone(), request.into()).await {
        Ok(model) => {
            let details = json!({ "source": source, "version": model.version });
            api.audit("model.load", &name, details).await;
            Ok(Json(model))
        }
        Err(error) => {
            remove_empty(&api, &name);
            Err(error.into())
        }
    }
}

/// Rejects chat templates in a request. A template is a program without a memory limit, so only the
/// operator may provide one.
fn reject_templates(request: &LoadRequest) -> Result<(), Problem> {
    let options = request.options.iter().flatten();
    let mut templates =
        options.filter(|(name, _)| matches!(name.as_str(), "template" | "question"));
    // These names select built-in formats.
    let is_builtin = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| matches!(text, "chat" | "text" | "verify_rm"))
    };
    match templates.find(|(_, value)| !is_builtin(value)) {
        Some((name, _)) => {
            let message = "templates are not accepted over HTTP; declare the template in \
                           `assay.json` in the model's directory, or in the configuration";
            Err(Problem::invalid(format!("/options/{name}"), message))
        }
        None => Ok(()),
    }
}

/// Removes a name under which no model was ever loaded, so that a failed request leaves nothing
/// behind.
fn remove_empty(api: &Api, name: &str) {
    let empty = |status: &ModelStatus| status.state == ModelState::Failed && status.info.is_none();
    if api
        .models()
        .list()
        .iter()
        .any(|status| status.name == name && empty(status))
    {
        // Fails if another request removed it first.
        let _ = api.models().unload(name);
    }
}

/// Unloads a model. Queued requests are still processed, and its pairs stay.
#[utoipa::path(delete, path = "/v1/reward-models/{name}", tag = "reward models",
    params(("name" = String, Path, description = "Name of the model",
                pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    responses(
        (status = 200, description = "The model was unloaded", body = UnloadedBody),
        (status = 404, description = "No reward model has this name", body = ProblemBody),
    ))]
pub(crate) async fn unload(
    api: Api,
    PathParameter(name): PathParameter,
) -> ApiResult<Json<UnloadedBody>> {
    check_name(&name)?;
    api.models().unload(&name)?;
    api.audit("model.unload", &name, json!({})).await;
    Ok(Json(UnloadedBody { unloaded: name }))
}
