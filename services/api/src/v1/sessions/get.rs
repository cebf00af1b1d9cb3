//! `GET /v1/sessions/{id}`: one session.

use assay_wire::ProblemBody;
use assay_wire::sessions::SessionBody;
use axum::Json;

use super::sender;
use crate::Api;
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Returns a session: its limits, what it may still use, and where its state is.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, description = "Id of the session")),
    responses(
        (status = 200, description = "The session", body = SessionBody),
        (status = 404, description = "The caller has no session with this id", body = ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    PathParameter(id): PathParameter,
) -> ApiResult<Json<SessionBody>> {
    Ok(Json(api.sessions().describe(&sender(&api), &id)?))
}
