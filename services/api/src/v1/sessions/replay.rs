//! `POST /v1/sessions/replay`: runs the calls of a log again.

use assay_wire::ProblemBody;
use assay_wire::sessions::{SessionLog, SessionReplay};
use axum::Json;

use super::{call, sender};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;

/// Runs the calls of a log again in a new instance, and compares how they end and what they return
/// with the log, until the first difference. Opens no session.
#[utoipa::path(post, path = "/v1/sessions/replay", tag = "sessions",
    request_body(content = SessionLog, content_type = "application/json"),
    responses(
        (status = 200, description = "Whether the calls returned the same", body = SessionReplay),
        (status = 503, description = "A call failed: retry", body = ProblemBody),
    ))]
pub(crate) async fn replay(api: Api, body: RequestBody) -> ApiResult<Json<SessionReplay>> {
    let (log, _permit) = body.json(&api, BodyKind::Batch).await?;
    let sender = sender(&api);
    let replayed = call(&api, api.sessions().replay(&sender, log)).await?;
    Ok(Json(replayed))
}
