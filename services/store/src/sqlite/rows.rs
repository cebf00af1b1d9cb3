//! The columns of `grades`: their names, and how a row is bound and read.

use std::sync::Arc;

use assay_core::{BatchId, Hash};
use assay_record::GradeRecord;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::POSITION_BITS;
use super::insert::{Insert, Values};
use crate::database::DatabaseError;

pub(super) const INSERT_GRADES: Insert = Insert {
    prefix: "insert into grades (key, kind, item, in_group, prompt_key, task_hash, \
           completion_hash, prompt_hash, score, reward, components, steps, measures, evidence, error, meta, \
           checks, queue_us, grade_us, work, time_us, appeal, score_after, advantage, \
           reward_breakdown)",
    columns: 25,
    suffix: "",
};

/// Selects a grade `g` with its kind `k` and batch `b`, for [`read_grade`].
pub(super) const SELECT_GRADE: &str = "select g.key, g.item, g.in_group, g.prompt_key, k.channel, \
     k.grader, k.version, k.image, g.task_hash, g.completion_hash, g.prompt_hash, k.policy, \
     k.policy_hash, k.outcome, k.verdict, k.pass, g.score, g.reward, g.components, g.steps, \
     g.measures, g.evidence, g.error, g.meta, g.checks, k.deterministic, k.cached, g.queue_us, \
     g.grade_us, g.work, g.time_us, b.id as batch, b.caller, b.step, \
     (select name from runs where no = b.run) as run, g.appeal, g.score_after, g.advantage, \
     g.reward_breakdown";

/// Key of the grade at `position` of the batch `number`.
pub(super) fn key(number: i64, position: u32) -> i64 {
    number << POSITION_BITS | i64::from(position)
}

/// Position of the grade with this key.
pub(super) fn position(key: i64) -> u32 {
    u32::try_from(key & ((1 << POSITION_BITS) - 1)).unwrap_or(0)
}

pub(super) fn bind_grade(values: &mut Values, key: i64, kind: i64, grade: &GradeRecord) {
    values
        .add(key)
        .add(kind)
        .add_text(grade.item.as_deref())
        .add_text(grade.group.as_deref())
        .add_text(grade.prompt_key.as_deref())
        .add(&grade.task_hash.as_bytes()[..])
        .add(&grade.completion_hash.as_bytes()[..])
        .add(grade.prompt_hash.as_ref().map(|hash| &hash.as_bytes()[..]))
        .add(grade.score)
        .add(grade.reward)
        .add_text(grade.components_json.as_deref())
        .add_text(grade.steps_json.as_deref())
        .add_text(grade.measures_json.as_deref())
        .add_text(grade.evidence_json.as_deref())
        .add_text(grade.error_json.as_deref())
        .add_text(grade.meta_json.as_deref())
        .add_text(grade.checks_json.as_deref())
        .add_count(grade.queue_us)
        .add_count(grade.grade_us)
        .add_count(grade.work)
        .add(grade.time_us)
        .add_text(
            grade
                .appeal
                .as_ref()
                .and_then(|appeal| serde_json::to_string(appeal).ok())
                .as_deref(),
        )
        .add(grade.score_after_appeal)
        .add(grade.advantage)
        .add_text(grade.reward_breakdown_json.as_deref());
}

pub(super) fn read_grade(row: &SqliteRow) -> Result<GradeRecord, DatabaseError> {
    let batch = batch_id(row.try_get("batch")?, "batches")?;
    let position = position(row.try_get("key")?);
    let hash = |column: &'static str, bytes: &[u8]| {
        Hash::from_bytes(bytes).ok_or_else(|| DatabaseError::Row {
            table: "grades",
            column,
            reason: format!("a hash has 32 bytes, this has {}", bytes.len()),
        })
    };
    let optional_hash = |column: &'static str, bytes: Option<&[u8]>| {
        bytes.map(|bytes| hash(column, bytes)).transpose()
    };
    let appeal: Option<&str> = row.try_get("appeal")?;
    let appeal = appeal
        .map(serde_json::from_str)
        .transpose()
        .map_err(|error| DatabaseError::Row {
            table: "grades",
            column: "appeal",
            reason: error.to_string(),
        })?;
    Ok(GradeRecord {
        grade: batch.grade(position),
        batch,
        position,
        caller: arc_str(row.try_get("caller")?),
        run: row.try_get::<Option<&str>, _>("run")?.map(Arc::from),
        step: row.try_get("step")?,
        item: row.try_get("item")?,
        group: row.try_get("in_group")?,
        prompt_key: row.try_get("prompt_key")?,
        channel: row.try_get("channel")?,
        grader: row.try_get("grader")?,
        grader_version: row.try_get("version")?,
        image: optional_hash("image", row.try_get("image")?)?,
        task_hash: hash("task_hash", row.try_get("task_hash")?)?,
        completion_hash: hash("completion_hash", row.try_get("completion_hash")?)?,
        prompt_hash: optional_hash("prompt_hash", row.try_get("prompt_hash")?)?,
        policy: arc_str(row.try_get("policy")?),
        policy_hash: optional_hash("policy_hash", row.try_get("policy_hash")?)?,
        outcome: row.try_get("outcome")?,
        verdict: row.try_get("verdict")?,
        pass: row.try_get("pass")?,
        score: row.try_get("score")?,
        appeal,
        score_after_appeal: row.try_get("score_after")?,
        reward: row.try_get("reward")?,
        advantage: row.try_get("advantage")?,
        components_json: row.try_get("components")?,
        reward_breakdown_json: row.try_get("reward_breakdown")?,
        steps_json: row.try_get("steps")?,
        measures_json: row.try_get("measures")?,
        evidence_json: row.try_get("evidence")?,
        error_json: row.try_get("error")?,
        meta_json: row.try_get("meta")?,
        checks_json: row.try_get("checks")?,
        deterministic: row.try_get("deterministic")?,
        cached: row.try_get("cached")?,
        queue_us: count(row.try_get("queue_us")?),
        grade_us: count(row.try_get("grade_us")?),
        work: count(row.try_get("work")?),
        time_us: row.try_get("time_us")?,
    })
}

fn arc_str(text: &str) -> Arc<str> {
    text.into()
}

/// Reverses [`Values::add_count`].
pub(super) fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

pub(super) fn batch_id(bytes: &[u8], table: &'static str) -> Result<BatchId, DatabaseError> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| DatabaseError::Row {
        table,
        column: "id",
        reason: format!("an id has 16 bytes, this has {}", bytes.len()),
    })?;
    Ok(u128::from_be_bytes(bytes).into())
}

/// Encodes an id as it is stored: big-endian, so that bytes sort like numbers.
pub(super) fn id_bytes(id: impl Into<u128>) -> Vec<u8> {
    id.into().to_be_bytes().to_vec()
}
