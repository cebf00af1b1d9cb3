//! `DELETE /v1/sessions/{id}`: ends a session.

use assay_wire::ProblemBody;
use assay_wire::sessions::EndedBody;
use axum::Json;
use serde_json::json;

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
    let sender = sender(&api);
    let session = api.sessions().describe(&sender, &id)?;
    let ended = api.sessions().end(&sender, &id)?;
    // An operator ended the session of somebody else.
    if session.caller != sender.caller {
        let details = json!({ "caller": session.caller });
        api.audit("session.end", &id, details).await;
    }
    Ok(Json(ended))
}
