//! `DELETE /v1/jobs/{id}`: cancels a job.

use assay_wire::ProblemBody;
use assay_wire::jobs::JobBody;
use axum::Json;
use serde_json::json;

use crate::Api;
use crate::error::ApiResult;
use crate::path::PathParameter;
use crate::v1::grades::{parse, record_of};

/// Cancels a job. Shards that are being graded are finished, and results that exist are kept. A job
/// that has ended does not change.
#[utoipa::path(delete, path = "/v1/jobs/{id}", tag = "jobs",
    params(("id" = String, Path, description = "Id of the job",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "The job", body = JobBody),
        (status = 404, description = "No job has this id", body = ProblemBody),
    ))]
pub(crate) async fn cancel(api: Api, PathParameter(id): PathParameter) -> ApiResult<Json<JobBody>> {
    let id = parse("id", &id)?;
    let job = api.jobs().cancel(record_of(&api)?, id).await?;
    if job.caller != api.caller().name() {
        let details = json!({ "caller": job.caller });
        api.audit("job.cancel", &job.job, details).await;
    }
    Ok(Json(job))
}
