//! `GET /v1/sessions/{id}/files/{path}`: a file of a session.

use assay_wire::ProblemBody;
use axum::response::{IntoResponse, Response};
use http::header;

use super::{call, sender};
use crate::Api;
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Returns the bytes of a file of a session. The slashes of its path are written as `%2F`. The
/// session does not change, and the read is not a call.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/{path}", tag = "sessions",
    params(
        ("id" = String, Path, description = "Id of the session"),
        ("path" = String, Path, description = "Path of the file"),
    ),
    responses(
        (status = 200, description = "The bytes of the file", body = String,
         content_type = "application/octet-stream"),
        (status = 404, description = "The caller has no session with this id, or the session has \
            no file with this path", body = ProblemBody),
        (status = 409, description = "The state of the session is lost", body = ProblemBody),
        (status = 422, description = "No file can have this path", body = ProblemBody),
        (status = 429, description = "Too much work is in progress", body = ProblemBody),
        (status = 503, description = "The call failed and the session is unchanged",
         body = ProblemBody),
    ))]
pub(crate) async fn file(
    api: Api,
    PathParameter((id, path)): PathParameter<(String, String)>,
) -> ApiResult<Response> {
    let sender = sender(&api);
    let bytes = call(&api, api.sessions().file(&sender, &id, &path)).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        // What a session wrote must not run in a browser.
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, bytes).into_response())
}
