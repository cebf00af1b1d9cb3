//! `GET /healthz`, `/readyz` and `/metrics`: liveness, readiness and metrics.

use assay_core::ErrorCode;
use assay_wire::ReadyBody;
use axum::Json;
use http::header;

use crate::Api;
use crate::error::{ApiError, ApiResult};

/// Reports that the process is running.
#[utoipa::path(get, path = "/healthz", tag = "node", responses(
    (status = 200, description = "`ok`", body = String),
))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Reports whether the node is warmed up, accepts batches, and can record and read grades.
///
/// Entries that wait for the database or were set aside are reported but do not affect readiness,
/// because they are durable.
#[utoipa::path(get, path = "/readyz", tag = "node", responses(
    (status = 200, description = "Ready, with the state of the record", body = ReadyBody),
    (status = 503, description = "Not ready, with the reason", body = assay_wire::ProblemBody),
))]
pub(crate) async fn readyz(api: Api) -> ApiResult<Json<ReadyBody>> {
    if !api.engine().admission().is_open() {
        return Err(ApiError::new(
            ErrorCode::ShuttingDown,
            "the node is shutting down",
        ));
    }
    if api.is_warming() {
        return Err(ApiError::new(
            ErrorCode::Starting,
            "the node is warming up; retry in a second",
        ));
    }
    let mut record = None;
    if let Some(store) = api.engine().record() {
        // The reason is for operators and contains no client data.
        let state = store.ready().await;
        record = Some(
            state.map_err(|error| ApiError::new(ErrorCode::StoreUnavailable, error.to_string()))?,
        );
    }
    Ok(Json(ReadyBody {
        status: "ready".to_owned(),
        record,
    }))
}

/// Returns metrics in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "node", responses(
    (status = 200, description = "Metrics", body = String),
))]
pub(crate) async fn metrics(api: Api) -> ([(header::HeaderName, &'static str); 1], String) {
    (
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        api.metrics(),
    )
}
