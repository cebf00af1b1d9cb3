//! `POST /v1/jobs/replay`: submits a replay of recorded grades.

use assay_core::{ErrorCode, Hash};
use assay_jobs::ReplayRequest;
use assay_wire::ProblemBody;
use assay_wire::jobs::{JobBody, ReplayJobRequest};
use axum::Json;
use axum::extract::OriginalUri;
use http::HeaderMap;

use crate::Api;
use crate::access::idempotency_key;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::query::Query;
use crate::v1::grades::list::GradeQuery;
use crate::v1::grades::record_of;

/// Submits a job that grades the selected grades again, as `POST /v1/grades/{id}/replay` does, and
/// counts what changed. Nothing is recorded, and judges are not called. Grades that are recorded
/// later are not part of the job.
#[utoipa::path(post, path = "/v1/jobs/replay", tag = "jobs",
    params(
        GradeQuery,
        ("Idempotency-Key" = inline(Option<String>), Header, description = "A request with the \
            same key, parameters and options returns the same job",
            pattern = "^[!-~]{1,255}$"),
    ),
    request_body = ReplayJobRequest,
    responses(
        (status = 200, description = "The job", body = JobBody),
        (status = 422, description = "A parameter is invalid, no grade matches, or no task \
                                      accepts the options",
         body = ProblemBody),
    ))]
pub(crate) async fn replay(
    api: Api,
    headers: HeaderMap,
    OriginalUri(uri): OriginalUri,
    Query(query): Query<GradeQuery>,
    body: RequestBody,
) -> ApiResult<Json<JobBody>> {
    let (request, _permit) = body.json(&api, BodyKind::Settings).await?;
    let ReplayJobRequest { options } = request;
    let record = record_of(&api)?;
    if !api.engine().admission().is_open() {
        let message = "the node is shutting down; retry, or send the job to another node";
        return Err(ApiError::new(ErrorCode::ShuttingDown, message));
    }
    let filter = query.filter(&api).await?;
    let caller = api.caller();
    let parameters = uri.query().unwrap_or_default();
    // Numbers and texts can always be serialised.
    let given = serde_json::to_vec(&options).unwrap_or_default();
    let request = ReplayRequest {
        caller: caller.name().to_owned(),
        share: caller.share_of_run(filter.run.as_deref()).to_string(),
        sees_all: caller.role().sees_all(),
        run: filter.run.as_deref().map(|run| caller.recorded_run(run)),
        filter,
        options,
        key: idempotency_key(&headers)?,
        request: Hash::of_parts(&[b"replay", parameters.as_bytes(), &given]),
    };
    let _charge = api.charge(1, 0)?;
    let id = api.jobs().submit_replay(api.review(), request).await?;
    Ok(Json(api.jobs().describe(record, id).await?))
}
