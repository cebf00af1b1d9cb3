//! `POST /v1/grades/{id}/replay`: grades a stored item again with this version.

use assay_access::metered;
use assay_mapping::render;
use assay_wire::replays::ReplayBody;
use axum::Json;

use super::parse;
use crate::Api;
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Grades a stored item again and compares the results. Does not use caches and does not record the
/// new grade.
#[utoipa::path(post, path = "/v1/grades/{id}/replay", tag = "record",
    params(("id" = String, Path, description = "Id of the grade",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "The stored and the new result", body = ReplayBody),
        (status = 404, description = "No grade has this id, or the record does not contain its \
                                      original task or completion", body = assay_wire::ProblemBody),
        (status = 422, description = "The grader no longer accepts the stored task",
         body = assay_wire::ProblemBody),
        (status = 429, description = "The queue is full", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn replay(
    api: Api,
    PathParameter(id): PathParameter,
) -> ApiResult<Json<ReplayBody>> {
    let id = parse("id", &id)?;
    let charge = api.charge(1, 0)?;
    let replay = metered(api.caller().share(), charge, api.review().replay(id)).await?;
    Ok(Json(render::replay_body(&replay)))
}
