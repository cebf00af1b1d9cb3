//! Ids of requests: the caller's `x-request-id`, or a new one. The id is in the response, in errors
//! and log lines, and in the span of the request.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};

use crate::state::Api;

/// The header.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length of a caller's id, in bytes.
const MAX_BYTES: usize = 128;

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The id of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(String);

impl RequestId {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The id of the request that this task handles.
pub(crate) fn current() -> Option<String> {
    CURRENT.try_with(|id| id.0.clone()).ok()
}

/// Gives the request its id.
pub(crate) async fn identify(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let sent = request
        .headers()
        .get(HEADER)
        .and_then(|value| value.to_str().ok());
    let sent = sent.filter(|id| !id.is_empty() && id.len() <= MAX_BYTES);
    let id = RequestId(sent.map_or_else(|| api.engine().new_id().to_string(), str::to_owned));
    request.extensions_mut().insert(id.clone());
    let mut response = CURRENT.scope(id.clone(), next.run(request)).await;
    if let Ok(value) = HeaderValue::try_from(id.0) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}
