//! `DELETE /v1/sessions/{id}`: ends a session.

use assay_wire::ProblemBody;
use assay_wire::sessions::EndedBody;
use axum::Json;

use super::sender;
use crate::Api;
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Ends a session and deletes its state and its log. A call that is running has no effect.
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, description = "Id of the session")),
    responses(
        (status = 200, description = "The session that was ended", body = EndedBody),
        (status = 404, description = "The caller has no session with this id", body = ProblemBody),
    ))]
pub(crate) async fn end(api: Api, PathParameter(id): PathParameter) -> ApiResult<Json<EndedBody>> {
    Ok(Json(api.sessions().end(&sender(&api), &id)?))
}
