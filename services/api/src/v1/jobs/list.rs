//! `GET /v1/jobs`: the jobs of the caller, or of all.

use assay_core::BatchId;
use assay_wire::jobs::JobsBody;
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::ApiResult;
use crate::query::Query;
use crate::v1::grades::{parse, record_of};
use crate::v1::page::{self, PageLimit};

/// The position and size of a page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// List only jobs before this one: `next` of the previous page. The newest jobs if omitted.
    #[param(pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
    before: Option<String>,
    /// Number of jobs on the page, 1 to 1,000; 100 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

/// Lists jobs, newest first, in pages. An operator sees those of all callers.
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", params(PageQuery), responses(
    (status = 200, description = "A page of jobs", body = JobsBody),
))]
pub(crate) async fn list(api: Api, Query(query): Query<PageQuery>) -> ApiResult<Json<JobsBody>> {
    let limit = page::limit(query.limit);
    let before: Option<BatchId> = query
        .before
        .as_deref()
        .map(|id| parse("before", id))
        .transpose()?;
    let jobs = api.jobs().list(record_of(&api)?, before, limit + 1).await?;
    let (jobs, more) = page::split(jobs, limit);
    let next = jobs.last().filter(|_| more).map(|last| last.job.clone());
    Ok(Json(JobsBody { jobs, next }))
}
