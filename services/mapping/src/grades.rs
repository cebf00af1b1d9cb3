//! Reads a grade with its texts as a wire type, for the routes and for the command line.

use assay_core::{Hash, RawJson};
use assay_record::{Body, BodyKind, Record, RecordError, StoredGrade};
use assay_wire::adjudications::AdjudicationBody;
use assay_wire::comments::CommentBody;
use assay_wire::grades::GradeDetail;
use serde_json::Value;

/// Reads the task, prompt, completion, policy, adjudications and comments of a grade.
///
/// # Errors
/// [`RecordError`] if the record cannot be read.
pub async fn grade_detail(store: &Record, stored: StoredGrade) -> Result<GradeDetail, RecordError> {
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
    let comments = store.comments(stored.grade.grade).await?;
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
        comments: comments.into_iter().map(CommentBody::from).collect(),
    })
}

/// A body as JSON; null if it is not stored.
async fn body(store: &Record, hash: Hash) -> Result<RawJson, RecordError> {
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
