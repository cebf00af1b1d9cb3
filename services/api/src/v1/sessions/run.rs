//! `POST /v1/sessions/{id}/run`: runs code in a session.

use assay_wire::ProblemBody;
use assay_wire::sessions::{CallReply, SessionCall};
use axum::Json;

use super::{call, sender};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Runs code in a session, after the calls that were sent before. A call that exceeds a limit has
/// no effect, and neither has one that fails.
#[utoipa::path(post, path = "/v1/sessions/{id}/run", tag = "sessions",
    params(("id" = String, Path, description = "Id of the session")),
    request_body(content = SessionCall, content_type = "application/json", example = json!({
        "code": "x = 20\nx + 1",
    })),
    responses(
        (status = 200, description = "What the call returned", body = CallReply),
        (status = 404, description = "The caller has no session with this id", body = ProblemBody),
        (status = 409, description = "The session has used up a limit, or its state is lost",
         body = ProblemBody),
        (status = 503, description = "The call failed and the session is unchanged",
         body = ProblemBody),
    ))]
pub(crate) async fn run(
    api: Api,
    PathParameter(id): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<CallReply>> {
    let (request, _permit) = body.json(&api, BodyKind::Document).await?;
    let sender = sender(&api);
    let reply = call(&api, api.sessions().run(&sender, &id, request)).await?;
    Ok(Json(reply))
}
