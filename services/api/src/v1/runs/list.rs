//! `GET /v1/runs`: training runs in the record.

use assay_wire::runs::{RunBody, RunsBody};
use axum::Json;
use axum::extract::State;

use crate::Api;
use crate::error::ApiResult;
use crate::v1::grades::store;

/// Most runs one reply lists.
const MOST: u32 = 1_000;

/// The runs in the record, the last used first, summed up; at most 1,000.
#[utoipa::path(get, path = "/v1/runs", tag = "record", responses(
    (status = 200, description = "The runs", body = RunsBody),
))]
pub(crate) async fn list(State(api): State<Api>) -> ApiResult<Json<RunsBody>> {
    let runs = store(&api)?.runs(MOST).await?;
    Ok(Json(RunsBody {
        runs: runs.into_iter().map(RunBody::from).collect(),
    }))
}
