//! Rejects requests on connections over the limit, inside the middleware of all requests: the reply
//! has a request id and the format of its endpoint.

use std::time::Duration;

use assay_engine::EngineError;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};

use crate::error::ApiError;

/// `Retry-After` of requests that are rejected because all connections are in use.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Marks the requests of a connection over the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverLimit;

/// Rejects marked requests.
pub(crate) async fn reject(request: Request, next: Next) -> Response {
    if request.extensions().get::<OverLimit>().is_none() {
        return next.run(request).await;
    }
    let mut reply = ApiError::from(EngineError::Overloaded {
        setting: "server.connections",
        own: false,
        retry_after: RETRY_AFTER,
    })
    .into_response();
    reply
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}
