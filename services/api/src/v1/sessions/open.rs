//! `POST /v1/sessions`: opens a session.

use assay_wire::sessions::{OpenSession, SessionBody};
use axum::Json;

use super::sender;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;

/// Opens an interpreter session. It uses no process until its first call, and none between calls.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions",
    request_body(content = OpenSession, content_type = "application/json", example = json!({
        "language": "python", "seed": 7, "files": { "data.csv": "a,b\n1,2\n" },
        "limits": { "seconds": 5, "total_seconds": 60 },
    })),
    responses((status = 200, description = "The session", body = SessionBody)))]
pub(crate) async fn open(api: Api, body: RequestBody) -> ApiResult<Json<SessionBody>> {
    let (request, _permit) = body.json(&api, BodyKind::Document).await?;
    let _admitted = api.admit(1)?;
    Ok(Json(api.sessions().create(&sender(&api), request).await?))
}
