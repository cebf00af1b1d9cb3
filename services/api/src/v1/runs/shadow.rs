//! `/v1/runs/{run}/shadow`: a share of a run that is graded again with other fields in its tasks,
//! as it is recorded.

use assay_record::shadow::ShadowChange;
use assay_wire::ProblemBody;
use assay_wire::shadows::{ShadowBody, StartShadow};
use axum::Json;
use serde_json::json;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Starts a shadow of a run: a share of its grades is graded again as they are recorded, with
/// fields set in their tasks, and compared. Rewards do not change, and judges are not called.
#[utoipa::path(post, path = "/v1/runs/{run}/shadow", tag = "record",
    params(("run" = String, Path, description = "Name of the run")),
    request_body = StartShadow,
    responses(
        (status = 200, description = "The shadow", body = ShadowBody),
        (status = 422, description = "A field is invalid, or the run has an open shadow",
            body = ProblemBody),
    ))]
pub(crate) async fn start(
    api: Api,
    PathParameter(run): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<ShadowBody>> {
    let (request, _permit) = body.json::<StartShadow>(&api, BodyKind::Settings).await?;
    let details = json!({ "options": request.options, "share": request.share });
    let caller = api.caller();
    let recorded = caller.recorded_run(&run);
    let started = api.jobs().start_shadow(&recorded, caller.name(), request);
    let started = started.await?;
    api.audit("shadow.start", &run, details).await;
    // With the name by which the caller knows the run.
    Ok(Json(ShadowBody { run, ..started }))
}

/// Returns the newest shadow of a run with what it found.
#[utoipa::path(get, path = "/v1/runs/{run}/shadow", tag = "record",
    params(("run" = String, Path, description = "Name of the run")),
    responses(
        (status = 200, description = "The shadow", body = ShadowBody),
        (status = 404, description = "The run has no shadow", body = ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    PathParameter(run): PathParameter,
) -> ApiResult<Json<ShadowBody>> {
    let recorded = api.caller().recorded_run(&run);
    let shadow = api.jobs().describe_shadow(&recorded).await?;
    // With the name by which the caller knows the run.
    Ok(Json(ShadowBody { run, ..shadow }))
}

/// Ends the shadow of a run. What it found is kept.
#[utoipa::path(delete, path = "/v1/runs/{run}/shadow", tag = "record",
    params(("run" = String, Path, description = "Name of the run")),
    responses(
        (status = 200, description = "The shadow", body = ShadowBody),
        (status = 404, description = "The run has no shadow", body = ProblemBody),
    ))]
pub(crate) async fn end(
    api: Api,
    PathParameter(run): PathParameter,
) -> ApiResult<Json<ShadowBody>> {
    change(&api, run, ShadowChange::End, "shadow.end").await
}

/// Sets the fields of the newest shadow in the tasks of the run from now on, and ends the shadow.
/// Tasks that their graders would reject with the fields stay as they are.
#[utoipa::path(post, path = "/v1/runs/{run}/shadow/promotion", tag = "record",
    params(("run" = String, Path, description = "Name of the run")),
    responses(
        (status = 200, description = "The shadow", body = ShadowBody),
        (status = 404, description = "The run has no shadow", body = ProblemBody),
    ))]
pub(crate) async fn promote(
    api: Api,
    PathParameter(run): PathParameter,
) -> ApiResult<Json<ShadowBody>> {
    change(&api, run, ShadowChange::Promote, "shadow.promote").await
}

/// Does not set the fields of the newest shadow in the tasks of the run any more.
#[utoipa::path(delete, path = "/v1/runs/{run}/shadow/promotion", tag = "record",
    params(("run" = String, Path, description = "Name of the run")),
    responses(
        (status = 200, description = "The shadow", body = ShadowBody),
        (status = 404, description = "The run has no shadow", body = ProblemBody),
        (status = 422, description = "The shadow was not promoted", body = ProblemBody),
    ))]
pub(crate) async fn withdraw(
    api: Api,
    PathParameter(run): PathParameter,
) -> ApiResult<Json<ShadowBody>> {
    change(&api, run, ShadowChange::Withdraw, "shadow.withdraw").await
}

async fn change(
    api: &Api,
    run: String,
    change: ShadowChange,
    action: &str,
) -> ApiResult<Json<ShadowBody>> {
    let recorded = api.caller().recorded_run(&run);
    let changed = api.jobs().change_shadow(&recorded, change).await?;
    let details = json!({ "shadow": changed.shadow, "options": changed.options });
    api.audit(action, &run, details).await;
    // With the name by which the caller knows the run.
    Ok(Json(ShadowBody { run, ..changed }))
}
