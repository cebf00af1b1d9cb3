//! Rejects requests of callers that have used up their time, before their bodies are decompressed
//! and read.

use assay_access::Caller;
use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;

use super::idempotency_key;
use crate::body::discard;
use crate::error::{ApiError, ApiResult};
use crate::state::Api;

/// Rejects a request with a body whose caller has no time left. A request that was sent before
/// under its idempotency key may need none, and is read.
pub(crate) async fn reject_exhausted(
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
