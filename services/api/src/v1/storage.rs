//! `/v1/storage`: the storage that the record uses, and prunes.

use assay_wire::storage::{PruneReply, PruneRequest, StorageBody};
use assay_wire::{Problem, ProblemBody};
use axum::Json;
use serde_json::json;

use super::grades::record_of;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;

/// Maximum number of holdings in a reply.
const MAX_HOLDINGS: u32 = 1_000;

/// Returns the storage used by each run and caller, the limits, and the progress of a prune.
#[utoipa::path(get, path = "/v1/storage", tag = "record", responses(
    (status = 200, description = "Size and contents of the record", body = StorageBody),
))]
pub(crate) async fn get(api: Api) -> ApiResult<Json<StorageBody>> {
    Ok(Json(record_of(&api)?.storage(MAX_HOLDINGS).await?.into()))
}

/// Deletes batches from the record. Returns when the prune is started; `GET /v1/storage` shows its
/// progress. Batches that arrive later are not deleted. One prune runs at a time.
#[utoipa::path(post, path = "/v1/storage/prune", tag = "record", request_body = PruneRequest,
    responses(
        (status = 200, description = "What matches, and the prune that was started",
         body = PruneReply),
        (status = 422, description = "A field is invalid, or there is no condition",
         body = ProblemBody),
        (status = 503, description = "Another prune is running, or the record is unavailable",
         body = ProblemBody),
    ))]
pub(crate) async fn prune(api: Api, body: RequestBody) -> ApiResult<Json<PruneReply>> {
    let (request, _permit) = body.json(&api, BodyKind::Settings).await?;
    let request: PruneRequest = request;
    let (dry_run, details) = (request.dry_run, json!(request));
    let filter = request
        .filter()
        .map_err(|(pointer, reason)| Problem::invalid(pointer, reason))?;
    let store = record_of(&api)?;
    let estimate = store.prune_estimate(&filter).await?.check();
    let estimate = estimate.map_err(|reason| Problem::invalid("/keep_runs", reason))?;
    let prune = if dry_run {
        None
    } else {
        let started = store.prune(filter).await?;
        api.audit("record.prune", "record", details).await;
        Some(started.into())
    };
    Ok(Json(PruneReply { estimate, prune }))
}
