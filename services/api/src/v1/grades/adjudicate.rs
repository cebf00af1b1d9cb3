//! `POST /v1/grades/{id}/adjudicate`: stores an operator's adjudication of a grade.

use assay_wire::Problem;
use assay_wire::adjudications::AdjudicationBody;
use assay_wire::channels::AdjudicateRequest;
use axum::Json;
use serde_json::json;

use super::parse;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Maximum length of a note, in bytes.
const MAX_NOTE_BYTES: usize = 4_096;

/// Stores an operator's adjudication of a grade and replaces an earlier one. It affects the rates
/// of the channel only if the grade was drawn by `POST /v1/adjudications/next`, because a grade
/// that was chosen by hand is not a random sample.
#[utoipa::path(post, path = "/v1/grades/{id}/adjudicate", tag = "noise",
    params(("id" = String, Path, description = "Id of the grade",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    request_body = AdjudicateRequest,
    responses(
        (status = 200, description = "The stored adjudication", body = AdjudicationBody),
        (status = 404, description = "No grade has this id", body = assay_wire::ProblemBody),
        (status = 422, description = "The grade has no verdict to adjudicate, or a field is \
                                      invalid", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn adjudicate(
    api: Api,
    PathParameter(id): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<AdjudicationBody>> {
    let id = parse("id", &id)?;
    let (request, _permit) = body.json(&api, BodyKind::Settings).await?;
    let AdjudicateRequest { pass, note } = request;
    if note
        .as_ref()
        .is_some_and(|note| note.len() > MAX_NOTE_BYTES)
    {
        let message = format!("`note` is longer than {MAX_NOTE_BYTES} bytes; shorten it");
        return Err(Problem::invalid("/note", message).into());
    }
    let adjudication = api
        .review()
        .adjudicate(id, pass, note, api.caller().name())
        .await?;
    api.audit("grade.adjudicate", &id.to_string(), json!({ "pass": pass }))
        .await;
    Ok(Json(adjudication.into()))
}
