//! `GET /v1/grades/{id}`: one grade with its task, prompt, completion and policy.

use assay_core::{ErrorCode, Hash, RawJson};
use assay_record::{Body, BodyKind, Record, StoredGrade};
use assay_wire::adjudications::AdjudicationBody;
use assay_wire::grades::GradeDetail;
use axum::Json;
use serde_json::Value;

use super::{parse_id, record_of};
use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::path::PathParameter;

/// Returns one grade, with its task, prompt and completion if the record still contains them.
#[utoipa::path(get, path = "/v1/grades/{id}", tag = "record",
    params(("id" = String, Path, description = "Id of the grade",
            pattern = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")),
    responses(
        (status = 200, description = "The grade", body = GradeDetail),
        (status = 404, description = "No grade has this id", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    PathParameter(id): PathParameter,
) -> ApiResult<Json<GradeDetail>> {
    let id = parse_id("id", &id)?;
    let store = record_of(&api)?;
    let stored = store
        .grade(id)
        .await?
        .ok_or_else(|| ApiError::new(ErrorCode::NotFound, format!("no grade has the id `{id}`")))?;
    Ok(Json(detail(store, stored).await?))
}

/// Loads the bodies and adjudications of a grade.
pub(crate) async fn detail(store: &Record, stored: StoredGrade) -> ApiResult<GradeDetail> {
    let prompt = match stored.source.prompt_hash {
        Some(hash) => body(store, hash).await?,
        None => Value::Null.into(),
    };
    let policy_body = match stored.source.policy_hash {
        Some(hash) => body(store, hash).await?,
        None => Value::Null.into(),
    };
    let adjudications = store
        .adjudications(stored.grade.grade)
        .await?
        .into_iter()
        .map(AdjudicationBody::from);
    let task = body(store, stored.source.task_hash).await?;
    let completion = body(store, stored.source.completion_hash).await?;
    let is_missing = task.is_null()
        || completion.is_null()
        || stored.source.prompt_hash.is_some() && prompt.is_null();
    let bodies = match (is_missing, stored.source.bodies_omitted) {
        (false, _) => "stored",
        (true, true) => "omitted",
        (true, false) => "deleted",
    };
    let checks = stored.source.checks.clone();
    Ok(GradeDetail {
        stored,
        bodies: bodies.to_owned(),
        task,
        checks: checks.unwrap_or_else(|| Value::Object(serde_json::Map::new()).into()),
        prompt,
        completion,
        policy_body,
        adjudications: adjudications.collect(),
    })
}

/// A body as JSON; null if it is not stored.
async fn body(store: &Record, hash: Hash) -> ApiResult<RawJson> {
    let Some(Body { kind, content, .. }) = store.body(hash).await? else {
        return Ok(Value::Null.into());
    };
    let text = String::from_utf8_lossy(&content);
    let body = match kind {
        BodyKind::Text => Some(Value::String(text.into_owned()).into()),
        BodyKind::Messages
        | BodyKind::Task
        | BodyKind::Policy
        | BodyKind::Pair
        | BodyKind::Report => RawJson::stored(&text),
    };
    Ok(body.unwrap_or_else(|| Value::Null.into()))
}
