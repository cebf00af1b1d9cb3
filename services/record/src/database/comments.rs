//! Inserts and deletes comments, and those of deleted grades.

use assay_core::{BatchId, GradeId};
use sqlx::sqlite::SqliteConnection;

use super::insert::Values;
use super::query::grade_key;
use super::rows::id_bytes;
use crate::comment::Comment;
use crate::database::DatabaseError;

const INSERT: &str = "insert into comments (grade, id, text, caller, time_us) \
     values ($1, $2, $3, $4, $5) on conflict do nothing";

const INSERT_LABEL: &str = "insert into comment_labels (grade, id, label, grade_key) \
     values ($1, $2, $3, $4) on conflict do nothing";

/// Inserts a comment, unless its grade has been deleted; returns whether it was new.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
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
    let done = sqlx::query_with(INSERT, values.finish()?)
        .execute(&mut *connection)
        .await?;
    for label in &comment.labels {
        let mut values = Values::with_capacity(4);
        values
            .add(id_bytes(comment.grade))
            .add(id_bytes(comment.id))
            .add(label.as_str())
            .add(key);
        sqlx::query_with(INSERT_LABEL, values.finish()?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(done.rows_affected() > 0)
}

/// Deletes a comment; returns whether it existed.
pub(super) async fn delete(
    connection: &mut SqliteConnection,
    grade: GradeId,
    id: BatchId,
) -> Result<bool, DatabaseError> {
    let mut deleted = 0;
    for sql in [
        "delete from comment_labels where grade = $1 and id = $2",
        "delete from comments where grade = $1 and id = $2",
    ] {
        deleted = sqlx::query(sql)
            .bind(id_bytes(grade))
            .bind(id_bytes(id))
            .execute(&mut *connection)
            .await?
            .rows_affected();
    }
    Ok(deleted > 0)
}

/// Deletes the comments on the grades of a batch up to this position.
pub(super) async fn delete_up_to(
    connection: &mut SqliteConnection,
    batch: BatchId,
    position: u32,
) -> Result<(), DatabaseError> {
    for sql in [
        "delete from comment_labels where grade between $1 and $2",
        "delete from comments where grade between $1 and $2",
    ] {
        sqlx::query(sql)
            .bind(id_bytes(batch.grade(0)))
            .bind(id_bytes(batch.grade(position)))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
