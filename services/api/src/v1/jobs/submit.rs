//! `POST /v1/jobs`: submits a job.

use assay_core::ErrorCode;
use assay_jobs::JobRequest;
use assay_wire::jobs::JobBody;
use assay_wire::{Problem, ProblemBody, fits_path};
use axum::Json;
use http::HeaderMap;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::access::idempotency_key;
use crate::body::RequestBody;
use crate::error::{ApiError, ApiResult};
use crate::query::Query;
use crate::v1::grades::record_of;

/// Maximum length of the name of a run, in bytes.
const MAX_RUN_BYTES: usize = 1_024;

/// What is done with the lines.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobQuery {
    /// Name of the run under which the grades are recorded.
    #[param(min_length = 1, max_length = 1024)]
    run: Option<String>,
    /// Step of the run.
    step: Option<i64>,
    /// Name of the reward policy of items that have none of their own.
    policy: Option<String>,
}

/// Submits a job: a body of JSON lines, each an item as in `items` of `POST /v1/grade`, of any
/// number. The service divides them into shards of whole groups, whose items are on adjacent lines,
/// and grades the shards in the background, after the items of other requests. The reply is sent
/// once all lines are durable.
#[utoipa::path(post, path = "/v1/jobs", tag = "jobs",
    params(
        JobQuery,
        ("Idempotency-Key" = inline(Option<String>), Header, description = "A request with the \
            same key and lines returns the same job",
            pattern = "^[!-~]{1,255}$"),
    ),
    request_body(content = assay_wire::ItemRequest, content_type = "application/x-ndjson",
        description = "One item in each line"),
    responses(
        (status = 200, description = "The job", body = JobBody),
        (status = 422, description = "A parameter is invalid, or no line is an item",
         body = ProblemBody),
    ))]
pub(crate) async fn submit(
    api: Api,
    headers: HeaderMap,
    Query(query): Query<JobQuery>,
    body: RequestBody,
) -> ApiResult<Json<JobBody>> {
    let mut pieces = body.pieces()?;
    let received = async {
        let request = request(&api, query, idempotency_key(&headers)?)?;
        let mut permit = api.engine().admission().memory(api.caller().share());
        if !api.engine().admission().is_open() {
            let message = "the node is shutting down; retry, or send the job to another node";
            return Err(ApiError::new(ErrorCode::ShuttingDown, message));
        }
        let _charge = api.charge(1, 0)?;
        let mut submission = api.jobs().submit(request).await?;
        while let Some(piece) = pieces.next().await? {
            // What is kept of the piece is not known before it is read.
            let kept = submission.push(&piece).await?;
            permit.grow(kept.saturating_sub(permit.bytes()))?;
        }
        Ok(submission.finish().await?)
    };
    match received.await {
        Ok(id) => Ok(Json(api.jobs().describe(record_of(&api)?, id).await?)),
        Err(error) => {
            pieces.discard(api.limits().body_bytes).await;
            Err(error)
        }
    }
}

/// The request of the caller, in its namespace.
fn request(api: &Api, query: JobQuery, key: Option<String>) -> ApiResult<JobRequest> {
    let JobQuery { run, step, policy } = query;
    let caller = api.caller();
    if let Some(run) = &run {
        if run.is_empty() || run.len() > MAX_RUN_BYTES || !fits_path(run) {
            let message = format!(
                "`run` must have 1 to {MAX_RUN_BYTES} bytes without control characters, and not be \
                 `.` or `..`"
            );
            return Err(Problem::new(ErrorCode::InvalidParameter, message).into());
        }
        if caller.role().sees_all() {
            let checked = api.gate().check_shared_run(run);
            checked
                .map_err(|error| Problem::new(ErrorCode::InvalidParameter, error.to_string()))?;
        }
    }
    Ok(JobRequest {
        caller: caller.name().to_owned(),
        share: caller.share_of_run(run.as_deref()).to_string(),
        run: run.map(|run| caller.recorded_run(&run)),
        step,
        policy,
        key,
    })
}
