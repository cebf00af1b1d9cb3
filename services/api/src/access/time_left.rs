//! Rejects requests of callers that have used up their time, before their bodies are decompressed
//! and read.

use std::time::Duration;

use assay_access::Caller;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http_body_util::BodyExt as _;

use super::idempotency_key;
use crate::error::{ApiError, ApiResult};
use crate::state::Api;

/// Rejects a request with a body whose caller has no time left. A request that was sent before
/// under its idempotency key may need none, and is read.
pub(crate) async fn reject_without_time(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    match time_left(&api, &parts).await {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => {
            discard(body, api.limits().body_bytes).await;
            error.into_response()
        }
    }
}

async fn time_left(api: &Api, request: &Parts) -> ApiResult<()> {
    let Some(caller) = request.extensions.get::<Caller>() else {
        return Ok(());
    };
    let Err(exceeded) = caller.admit_time(api.gate().clock().monotonic()) else {
        return Ok(());
    };
    let api = api.seen_by(caller.clone());
    if let Some(key) = idempotency_key(&request.headers)?
        && api.engine().is_claimed(&api.request_key(key)).await
    {
        return Ok(());
    }
    Err(ApiError::from(exceeded))
}

/// Longest pause of a body that is discarded.
const PAUSE: Duration = Duration::from_millis(100);

/// Reads a body of at most `max` bytes without keeping it, as long as it arrives without pauses: a
/// client that is still sending when the connection is closed may not see the reply.
pub(crate) async fn discard(mut body: Body, max: usize) {
    let mut read = 0_usize;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(PAUSE, body.frame()).await {
        read = read.saturating_add(frame.data_ref().map_or(0, bytes::Bytes::len));
        if read > max {
            return;
        }
    }
}
