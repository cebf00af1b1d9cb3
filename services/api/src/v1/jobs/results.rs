//! `GET /v1/jobs/{id}/results`: the results of a job, also while it is graded.

use std::convert::Infallible;

use assay_core::Fault;
use assay_jobs::Results;
use assay_mapping::render;
use assay_wire::ProblemBody;
use assay_wire::jobs::JobLine;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, stream};
use http::header;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::ndjson::NDJSON;
use crate::path::PathParameter;
use crate::query::{Query, Within};
use crate::v1::grades::{parse, record_of};

/// Which results to send.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ResultsQuery {
    /// Continue an earlier reply: `next` of its last line.
    #[param(value_type = Option<u32>, minimum = 0)]
    after: Option<Within<0, { u32::MAX }>>,
    /// End the reply with the shard that reaches this number of results; without it, the reply has
    /// all results that exist.
    #[param(value_type = Option<u32>, minimum = 1)]
    limit: Option<Within<1, { u32::MAX }>>,
}

/// Returns the results of a job as JSON lines, in the order of its lines, up to the first shard
/// that is not finished. The last line has the position with which the next request continues.
#[utoipa::path(get, path = "/v1/jobs/{id}/results", tag = "jobs",
    params(ResultsQuery,
           ("id" = String, Path, description = "Id of the job",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "A line for each result, and a last one",
         content((JobLine = "application/x-ndjson"))),
        (status = 404, description = "No job has this id", body = ProblemBody),
    ))]
pub(crate) async fn results(
    api: Api,
    PathParameter(id): PathParameter,
    Query(query): Query<ResultsQuery>,
) -> ApiResult<Response> {
    let id = parse("id", &id)?;
    let (after, limit) = (
        query.after.map_or(0, Within::get),
        query.limit.map(Within::get),
    );
    let results = api.jobs().results(record_of(&api)?, id, after, limit);
    let lines = lines(results.await?);
    Ok(([(header::CONTENT_TYPE, NDJSON)], Body::from_stream(lines)).into_response())
}

fn lines(results: Results) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(results, |mut results| async move {
        let lines = match results.next_lines().await {
            Ok(lines) => lines?,
            Err(error) => {
                let error = ApiError::from(error);
                let problem = error.problem();
                render::error_line(&Fault::transient(problem.code, problem.message.clone()))
            }
        };
        Some((Ok(Bytes::from(lines)), results))
    })
}
