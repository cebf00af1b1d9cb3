//! `GET /v1/runs`: the recorded training runs.

use assay_wire::runs::RunsBody;
use axum::Json;

use crate::Api;
use crate::error::ApiResult;
use crate::v1::grades::record_of;

/// Maximum number of runs in a reply.
const MAX_RUNS: u32 = 1_000;

/// Lists the recorded runs with their totals, most recently used first; at most 1,000.
#[utoipa::path(get, path = "/v1/runs", tag = "record", responses(
    (status = 200, description = "The runs", body = RunsBody),
))]
pub(crate) async fn list(api: Api) -> ApiResult<Json<RunsBody>> {
    let runs = record_of(&api)?.runs(MAX_RUNS).await?;
    Ok(Json(RunsBody { runs }))
}
