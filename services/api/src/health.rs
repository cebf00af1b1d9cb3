//! Is the node alive, is it ready, how is it doing.

use assay_core::ErrorCode;
use axum::extract::State;
use http::header;

use crate::Api;
use crate::error::{ApiError, ApiResult};

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "node", responses((status = 200, description = "`ok`", body = String)))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// The node is warmed up, takes batches and can read its record.
#[utoipa::path(get, path = "/readyz", tag = "node", responses(
    (status = 200, description = "`ready`", body = String),
    (status = 503, description = "Not now, and why", body = assay_wire::ProblemBody),
))]
pub(crate) async fn readyz(State(api): State<Api>) -> ApiResult<&'static str> {
    if !api.engine().admission().is_open() {
        return Err(ApiError::new(ErrorCode::ShuttingDown, "the node is shutting down"));
    }
    if api.is_warming() {
        return Err(ApiError::new(ErrorCode::Starting, "the node is warming up; ask again in a second"));
    }
    if let Some(store) = api.engine().store() {
        store.ready().await?;
    }
    Ok("ready\n")
}

/// Metrics in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "node", responses((status = 200, description = "Metrics", body = String)))]
pub(crate) async fn metrics(State(api): State<Api>) -> ([(header::HeaderName, &'static str); 1], String) {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], api.metrics())
}
