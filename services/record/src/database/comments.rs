//! Inserts and deletes comments, and those of deleted grades.

use assay_core::{BatchId, GradeId};

use super::insert::Values;
use super::query::grade_key;
use super::rows::id_bytes;
use crate::comment::Comment;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};

const INSERT: &str = "insert into comments (grade, id, text, caller, time_us) \
     values ($1, $2, $3, $4, $5) on conflict do nothing";

const INSERT_LABEL: &str = "insert into comment_labels (grade, id, label, grade_key) \
     values ($1, $2, $3, $4) on conflict do nothing";

/// Inserts a comment, unless its grade has been deleted; returns whether it was new.
pub(super) async fn insert(
    connection: &mut Connection,
    comment: &Comment,
) -> Result<bool, DatabaseError> {
    let Some(key) = grade_key(connection, comment.grade).await? else {
        return Ok(false);
    };
    let mut values = Values::with_capacity(5);
    values
        .add(id_bytes(comment.grade))
        .add(id_bytes(comment.id))
        .add(comment.text.as_str())
        .add(comment.caller.as_str())
        .add(comment.time_us);
    let done = sql::query(INSERT)
        .with(values.finish())
        .execute(connection)
        .await?;
    for label in &comment.labels {
        let mut values = Values::with_capacity(4);
        values
            .add(id_bytes(comment.grade))
            .add(id_bytes(comment.id))
            .add(label.as_str())
            .add(key);
        sql::query(INSERT_LABEL)
            .with(values.finish())
            .execute(connection)
            .await?;
    }
    Ok(done > 0)
}

/// Deletes a comment; returns whether it existed.
pub(super) async fn delete(
    connection: &mut Connection,
    grade: GradeId,
    id: BatchId,
) -> Result<bool, DatabaseError> {
    let mut deleted = 0;
    for sql in [
        "delete from comment_labels where grade = $1 and id = $2",
        "delete from comments where grade = $1 and id = $2",
    ] {
        deleted = sql::query(sql)
            .bind(id_bytes(grade))
            .bind(id_bytes(id))
            .execute(connection)
            .await?;
    }
    Ok(deleted > 0)
}

/// Deletes the comments on the grades of a batch up to this position.
pub(super) async fn delete_up_to(
    connection: &mut Connection,
    batch: BatchId,
    position: u32,
) -> Result<(), DatabaseError> {
    for sql in [
        "delete from comment_labels where grade between $1 and $2",
        "delete from comments where grade between $1 and $2",
    ] {
        sql::query(sql)
            .bind(id_bytes(batch.grade(0)))
            .bind(id_bytes(batch.grade(position)))
            .execute(connection)
            .await?;
    }
    Ok(())
}
