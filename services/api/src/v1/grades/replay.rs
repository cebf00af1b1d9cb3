//! `POST /v1/grades/{id}/replay`: a stored item graded again with this binary.

use assay_wire::grades::ReplayBody;
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};

use super::path_id;
use crate::error::ApiResult;
use crate::{Api, render};

/// Grades a stored item again. Nothing is recorded and nothing comes from a cache.
#[utoipa::path(post, path = "/v1/grades/{id}/replay", tag = "record",
    params(("id" = String, Path, description = "Id of the grade", pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "Both verdicts", body = ReplayBody),
        (status = 404, description = "No grade has this id, or its bodies are not kept", body = assay_wire::ProblemBody),
        (status = 422, description = "The stored task no longer fits its grader", body = assay_wire::ProblemBody),
        (status = 429, description = "Too much work is waiting", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn replay(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
) -> ApiResult<Json<ReplayBody>> {
    let id = path_id(path)?;
    Ok(Json(render::replay_body(&api.engine().replay(id).await?)))
}
