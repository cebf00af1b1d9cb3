//! `GET /v1/grades/{id}`: one grade with its task, prompt, completion and policy.

use assay_core::ErrorCode;
use assay_mapping::grades::grade_detail;
use assay_wire::grades::GradeDetail;
use axum::Json;

use super::{parse, record_of};
use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::path::PathParameter;

/// Returns one grade, with its task, prompt and completion if the record still contains them.
#[utoipa::path(get, path = "/v1/grades/{id}", tag = "record",
    params(("id" = String, Path, description = "Id of the grade",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "The grade", body = GradeDetail),
        (status = 404, description = "No grade has this id", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    PathParameter(id): PathParameter,
) -> ApiResult<Json<GradeDetail>> {
    let id = parse("id", &id)?;
    let store = record_of(&api)?;
    let stored = store
        .grade(id)
        .await?
        .ok_or_else(|| ApiError::new(ErrorCode::NotFound, format!("no grade has the id `{id}`")))?;
    Ok(Json(grade_detail(store, stored).await?))
}
