//! `POST /v1/sessions/run`: calls of many sessions in one request.

use std::collections::BTreeMap;
use std::convert::Infallible;

use assay_access::metered;
use assay_core::ErrorCode;
use assay_engine::MemoryPermit;
use assay_sessions::SessionError;
use assay_wire::Problem;
use assay_wire::sessions::{
    BatchCall, BatchReply, BatchRequest, BatchResult, CallReply, SessionCall,
};
use axum::Json;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::{self, FuturesUnordered};
use futures::{Stream, StreamExt as _};
use http::{HeaderMap, header};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::sender;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::ndjson::{self, NDJSON};

/// Maximum number of calls of a batch. Their replies are in memory together, unless they are
/// streamed.
const MAX_CALLS: usize = 4_096;

/// Maximum number of replies that wait for a slow client before further calls are delayed.
const MAX_QUEUED: usize = 16;

/// Runs calls of many sessions and returns when all have ended. With `Accept:
/// application/x-ndjson`, streams one line per result in the order in which they end. Calls of the
/// same session run in their order; an error of one does not affect the others.
#[utoipa::path(post, path = "/v1/sessions/run", tag = "sessions",
    request_body(content = BatchRequest, content_type = "application/json"),
    responses(
        (status = 200, description = "One result for each call", content(
            (BatchReply = "application/json"),
            (BatchResult = "application/x-ndjson"),
        )),
    ))]
pub(crate) async fn run(api: Api, headers: HeaderMap, body: RequestBody) -> ApiResult<Response> {
    let (batch, mut permit) = body.checked_json(&api, BodyKind::Batch, check).await?;
    let count = batch.calls.len();
    let admitted = api.admit(count)?;
    let charge = api.charge(count, 0)?;
    let (results, mut received) = mpsc::channel(MAX_QUEUED);
    let (share, sessions, sender) = (
        api.caller().share().clone(),
        api.sessions().clone(),
        sender(&api),
    );
    let running = async move {
        let by_session = by_session(batch.calls);
        let running = by_session.into_iter().map(|(id, calls)| {
            let (sessions, sender, results) = (&sessions, &sender, results.clone());
            async move {
                for (index, call) in calls {
                    let ran = sessions.run(sender, &id, call).await;
                    if results.send(result(index, ran)).await.is_err() {
                        return;
                    }
                }
            }
        });
        let mut running: FuturesUnordered<_> = running.collect();
        metered(&share, charge, async {
            while running.next().await.is_some() {}
        })
        .await;
        drop(admitted);
    };
    // Dropping the handle stops the calls when the client disconnects.
    let running = AbortOnDropHandle::new(tokio::spawn(running.in_current_span()));
    if ndjson::is_accepted(&headers) {
        let lines = lines(received, running, permit).map(Ok::<_, Infallible>);
        return Ok(([(header::CONTENT_TYPE, NDJSON)], Body::from_stream(lines)).into_response());
    }
    let mut results = Vec::with_capacity(count);
    while let Some(result) = received.recv().await {
        // It is in memory already, so it is counted even if there is none left.
        permit.count(bytes_of(&result));
        results.push(result);
    }
    if results.len() < count {
        return Err(ApiError::new(
            ErrorCode::Internal,
            "the batch failed; `GET /v1/sessions/{id}` tells which calls ran",
        ));
    }
    results.sort_by_key(|result| result.index);
    Ok(Json(BatchReply { results }).into_response())
}

fn check(batch: BatchRequest) -> Result<BatchRequest, Problem> {
    match batch.calls.len() {
        0 => Err(Problem::at(
            ErrorCode::EmptyBatch,
            "/calls".to_owned(),
            "there are no calls",
        )),
        count if count > MAX_CALLS => Err(Problem::at(
            ErrorCode::TooManyItems,
            "/calls".to_owned(),
            format!("there are {count} calls, more than {MAX_CALLS}; split them"),
        )),
        _ => Ok(batch),
    }
}

/// The calls of each session with their positions, in order.
fn by_session(calls: Vec<BatchCall>) -> BTreeMap<String, Vec<(usize, SessionCall)>> {
    let mut by_session: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (index, call) in calls.into_iter().enumerate() {
        let calls = by_session.entry(call.session).or_default();
        calls.push((index, call.run));
    }
    by_session
}

fn result(index: usize, ran: Result<CallReply, SessionError>) -> BatchResult {
    let (reply, error) = match ran {
        Ok(reply) => (Some(reply), None),
        Err(error) => {
            let error = ApiError::from(error);
            let mut problem = error.problem().clone();
            let pointer = problem.pointer.unwrap_or_default();
            problem.pointer = Some(format!("/calls/{index}/run{pointer}"));
            (None, Some(problem))
        }
    };
    BatchResult {
        index,
        reply,
        error,
    }
}

/// About the memory of a result.
fn bytes_of(result: &BatchResult) -> usize {
    let json = serde_json::to_vec(result);
    json.map_or(0, |json| json.len())
}

/// The lines of a stream. It holds what its calls need until it ends.
fn lines(
    results: mpsc::Receiver<BatchResult>,
    running: AbortOnDropHandle<()>,
    permit: MemoryPermit,
) -> impl Stream<Item = Bytes> {
    stream::unfold(
        (results, running, permit),
        |(mut results, running, permit)| async move {
            let result = results.recv().await?;
            // Texts and numbers can always be serialised.
            let mut line = serde_json::to_vec(&result).unwrap_or_default();
            line.push(b'\n');
            Some((Bytes::from(line), (results, running, permit)))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(session: &str, code: &str) -> BatchCall {
        let run = serde_json::json!({ "session": session, "run": { "code": code } });
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn calls_of_a_session_keep_their_order() {
        let calls = ["b1", "a1", "b2", "a2"].map(|code| call(&code[..1], code));
        let by_session = by_session(calls.into());
        let codes = |session: &str| {
            let calls = by_session[session].iter();
            calls
                .map(|(index, call)| (*index, call.code.as_str()))
                .collect::<Vec<_>>()
        };
        assert_eq!(codes("a"), [(1, "a1"), (3, "a2")]);
        assert_eq!(codes("b"), [(0, "b1"), (2, "b2")]);
    }

    #[test]
    fn errors_have_the_place_of_their_call() {
        let invalid = SessionError::Invalid {
            pointer: "/seconds".to_owned(),
            message: "must be above 0".to_owned(),
        };
        let problem = result(3, Err(invalid)).error.unwrap();
        assert_eq!(problem.pointer.as_deref(), Some("/calls/3/run/seconds"));
        assert_eq!(problem.code, ErrorCode::InvalidField);
    }
}
