//! `POST /v1/sessions/{id}/fork`: sessions that continue from the state of another one.

use assay_wire::ProblemBody;
use assay_wire::sessions::{ForkRequest, ForksBody};
use axum::Json;

use super::sender;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Opens sessions that continue from the state of another one, with its calls, its used budgets and
/// its log. No session sees what another one does after that. They share one copy of the state.
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", tag = "sessions",
    params(("id" = String, Path, description = "Id of the session")),
    request_body(content = ForkRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "The forks", body = ForksBody),
        (status = 404, description = "The caller has no session with this id", body = ProblemBody),
    ))]
pub(crate) async fn fork(
    api: Api,
    PathParameter(id): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<ForksBody>> {
    let (request, _permit) = body.json::<ForkRequest>(&api, BodyKind::Settings).await?;
    let _admitted = api.admit(1)?;
    let sender = sender(&api);
    let forks = api.sessions().fork(&sender, &id, request.count).await?;
    Ok(Json(ForksBody { sessions: forks }))
}
