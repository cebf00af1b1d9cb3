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
        Some(hash) => text(store, hash).await?,
        None => Value::Null.into(),
    };
    let policy_body = match stored.source.policy_hash {
        Some(hash) => json(store, hash).await?,
        None => Value::Null.into(),
    };
    let adjudications = store
        .adjudications(stored.grade.grade)
        .await?
        .into_iter()
        .map(AdjudicationBody::from);
    let comments = store.comments(stored.grade.grade).await?;
    let task = json(store, stored.source.task_hash).await?;
    let completion = text(store, stored.source.completion_hash).await?;
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

/// A prompt or completion, a string or messages; null if it is not stored. A text with the bytes of
/// a task has the same hash, and is stored once, as the first kind.
async fn text(store: &Record, hash: Hash) -> Result<RawJson, RecordError> {
    Ok(match store.body(hash).await? {
        Some(body) if body.kind == BodyKind::Messages => as_json(&body),
        Some(body) => Value::String(String::from_utf8_lossy(&body.content).into_owned()).into(),
        None => Value::Null.into(),
    })
}

/// A task or policy; null if it is not stored.
async fn json(store: &Record, hash: Hash) -> Result<RawJson, RecordError> {
    let body = store.body(hash).await?;
    Ok(body.map_or_else(|| Value::Null.into(), |body| as_json(&body)))
}

fn as_json(body: &Body) -> RawJson {
    RawJson::stored(&String::from_utf8_lossy(&body.content)).unwrap_or_else(|| Value::Null.into())
}
