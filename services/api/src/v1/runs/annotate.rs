//! `PATCH /v1/runs/{run}`: changes the tags and the note of a run, and archives it.

use assay_core::ErrorCode;
use assay_record::RunSummary;
use assay_record::run_notes::RunChanges;
use assay_wire::Problem;
use axum::Json;
use serde_json::json;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::path::PathParameter;
use crate::v1::grades::record_of;

/// Changes what is noted about a run: its tags, its note, and whether lists leave it out. Given
/// fields replace those of the run, and the others stay as they are.
#[utoipa::path(patch, path = "/v1/runs/{run}", tag = "record",
    params(("run" = String, Path, description = "Name of the run")),
    request_body = RunChanges,
    responses(
        (status = 200, description = "The run with its tags and its note", body = RunSummary),
        (status = 404, description = "No run has this name", body = assay_wire::ProblemBody),
        (status = 422, description = "A field exceeds its limits, or there is none",
            body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn annotate(
    api: Api,
    PathParameter(run): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<RunSummary>> {
    let check = |changes: RunChanges| match changes.check() {
        Ok(()) => Ok(changes),
        Err(invalid) => Err(Problem::invalid(invalid.pointer, invalid.message)),
    };
    let (changes, _permit) = body.checked_json(&api, BodyKind::Settings, check).await?;
    let Some(changed) = record_of(&api)?.annotate_run(&run, &changes).await? else {
        let message = api.review().unknown_run(&run).await?;
        return Err(ApiError::new(ErrorCode::NotFound, message));
    };
    api.audit("run.annotate", &run, json!(changes)).await;
    Ok(Json(changed))
}
