//! `GET /v1/sessions/{id}/log`: the log of a session.

use assay_wire::ProblemBody;
use assay_wire::sessions::SessionLog;
use axum::Json;

use super::sender;
use crate::Api;
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Returns the log of a session: all that is needed to run its calls again, and hashes of what they
/// returned.
#[utoipa::path(get, path = "/v1/sessions/{id}/log", tag = "sessions",
    params(("id" = String, Path, description = "Id of the session")),
    responses(
        (status = 200, description = "The log", body = SessionLog),
        (status = 404, description = "The caller has no session with this id", body = ProblemBody),
        (status = 429, description = "Too much work is in progress", body = ProblemBody),
    ))]
pub(crate) async fn log(api: Api, PathParameter(id): PathParameter) -> ApiResult<Json<SessionLog>> {
    Ok(Json(api.sessions().log(&sender(&api), &id).await?))
}
