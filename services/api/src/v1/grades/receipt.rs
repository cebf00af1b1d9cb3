//! `GET /v1/grades/{id}/receipt` and `GET /v1/receipts/key`: signed receipts of grades.

use assay_access::metered;
use assay_review::receipt::Envelope;
use assay_wire::ProblemBody;
use assay_wire::grades::ReceiptKeyBody;
use axum::Json;

use super::parse;
use crate::Api;
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Returns a signed receipt of a grade, with which `assay verify-receipt` grades the item again on
/// any machine and compares the results. It contains the item, and the result without its reward
/// and appeal. The item is graded again first.
#[utoipa::path(get, path = "/v1/grades/{id}/receipt", tag = "record",
    params(("id" = String, Path, description = "Id of the grade",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "The receipt, in the format DSSE 1.0", body = Envelope),
        (status = 404, description = "No grade has this id, the record does not contain its \
                                      original task or completion, or it cannot be repeated, \
                                      because it failed, is not deterministic or differs",
         body = ProblemBody),
        (status = 422, description = "The grader no longer accepts the stored task",
         body = ProblemBody),
        (status = 429, description = "The queue is full", body = ProblemBody),
    ))]
pub(crate) async fn receipt(
    api: Api,
    PathParameter(id): PathParameter,
) -> ApiResult<Json<Envelope>> {
    let id = parse("id", &id)?;
    let charge = api.charge(1, 0)?;
    let receipt = metered(api.caller().share(), charge, api.review().receipt(id)).await?;
    Ok(Json(receipt))
}

/// Returns the public key of the receipts that this node signs.
#[utoipa::path(get, path = "/v1/receipts/key", tag = "record",
    responses((status = 200, description = "The public key", body = ReceiptKeyBody)))]
pub(crate) async fn key(api: Api) -> ApiResult<Json<ReceiptKeyBody>> {
    let key = api.review().receipt_key().await?.to_string();
    Ok(Json(ReceiptKeyBody { key }))
}
