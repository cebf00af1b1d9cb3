//! `GET /v1/jobs/{id}`: the state and the progress of a job, once or as events.

use std::convert::Infallible;
use std::time::Duration;

use assay_core::BatchId;
use assay_record::Record;
use assay_wire::ProblemBody;
use assay_wire::jobs::JobBody;
use axum::Json;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, stream};
use http::{HeaderMap, header};
use tokio::time::sleep;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::ndjson;
use crate::path::PathParameter;
use crate::v1::grades::{parse, record_of};

/// The media type of server-sent events.
const EVENTS: &str = "text/event-stream";

/// Time between two events.
const INTERVAL: Duration = Duration::from_secs(1);

/// Returns a job: its state, its counts, how fast it is graded, when it should end, and its failing
/// shards. With `Accept: text/event-stream`, sends it every second as an event, until it has ended.
#[utoipa::path(get, path = "/v1/jobs/{id}", tag = "jobs",
    params(("id" = String, Path, description = "Id of the job",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "The job", content(
            (JobBody = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 404, description = "No job has this id", body = ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    headers: HeaderMap,
    PathParameter(id): PathParameter,
) -> ApiResult<Response> {
    let id = parse("id", &id)?;
    let record = record_of(&api)?.clone();
    let job = api.jobs().describe(&record, id).await?;
    if !ndjson::accepts(&headers, EVENTS) {
        return Ok(Json(job).into_response());
    }
    let body = Body::from_stream(events(api, record, id, job));
    Ok(([(header::CONTENT_TYPE, EVENTS)], body).into_response())
}

/// The events of a job, of which the first is known.
fn events(
    api: Api,
    record: Record,
    id: BatchId,
    first: JobBody,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some((api, record, Some(first))), move |state| async move {
        let (api, record, first) = state?;
        let job = match first {
            Some(first) => Ok(first),
            None => {
                sleep(INTERVAL).await;
                api.jobs().describe(&record, id).await
            }
        };
        let (event, is_last) = match job {
            Ok(job) => (event("job", &job), job.is_final()),
            Err(error) => {
                let error = ApiError::from(error);
                (event("error", error.problem()), true)
            }
        };
        let next = (!is_last).then_some((api, record, None));
        Some((Ok(Bytes::from(event)), next))
    })
}

/// An event with a value as JSON, which has no line breaks.
fn event(name: &str, value: &impl serde::Serialize) -> String {
    // The types have finite numbers and string keys, so serialising cannot fail.
    let data = serde_json::to_string(value).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}
