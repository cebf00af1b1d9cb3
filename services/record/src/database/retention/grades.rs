//! Deletes grades, and batches with their last grades.

use std::borrow::Cow;

use std::collections::BTreeMap;

use super::super::documents;
use super::super::facets::DeletedFacets;
use super::super::holdings::{self, HeldAmounts};
use super::super::insert::Delete;
use super::super::rows::{POSITION_BITS, count, id_bytes, position};
use super::super::{assignments, comments};
use super::stored::{StoredBatch, keys, stored_batches};
use super::sweep;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::retention_step::StepOutcome;

const DELETE_BATCHES: Delete = Delete {
    prefix: "delete from batches where",
    key: &["no"],
};

/// Deletes at most `limit` grades of these batches, in order; `done` if none of the batches is
/// left.
pub(super) async fn delete(
    connection: &mut Connection,
    batches: &[i64],
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    let batches = stored_batches(connection, batches).await?;
    if batches.is_empty() {
        return Ok(StepOutcome::DONE);
    }
    sweep::begin(connection).await?;
    sql::query("insert into retention (running) values (1)")
        .execute(connection)
        .await?;
    let mut outcome = StepOutcome::MORE;
    let mut facets = DeletedFacets::default();
    let mut held: BTreeMap<(i64, &str), HeldAmounts> = BTreeMap::new();
    let mut finished = Vec::new();
    let mut left = limit;
    for batch in &batches {
        let deleted = delete_some(connection, batch, left, &mut facets).await?;
        let is_finished = deleted.grades < i64::from(left);
        let amounts = if is_finished {
            finished.push(batch.number);
            HeldAmounts {
                batches: 1,
                grades: batch.grades,
                grade_bytes: batch.grade_bytes,
                pack_bytes: batch.pack_bytes,
            }
        } else {
            keep_rest(connection, batch, &deleted).await?
        };
        *held.entry((batch.run, &batch.caller)).or_default() -= amounts;
        outcome.grades += count(deleted.grades);
        if !is_finished {
            break;
        }
        left -= u32::try_from(deleted.grades).unwrap_or(left);
    }
    documents::DELETE
        .run(connection, &finished, |values, number| {
            values.add(*number);
        })
        .await?;
    sql::query("delete from retention")
        .execute(connection)
        .await?;
    facets.delete(connection).await?;
    for batch in batches.iter().take(finished.len()) {
        let id = u128::from(batch.id);
        sql::query("delete from draws where grade between $1 and $2")
            .bind(id_bytes(id))
            .bind(id_bytes(id | ((1 << POSITION_BITS) - 1)))
            .execute(connection)
            .await?;
    }
    DELETE_BATCHES
        .run(connection, &finished, |values, number| {
            values.add(*number);
        })
        .await?;
    for numbers in finished.chunk_by(|number, next| number + 1 == *next) {
        if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
            note_deleted(connection, *first, *last).await?;
        }
    }
    for ((run, caller), amounts) in held {
        holdings::change(connection, run, caller, amounts).await?;
    }
    outcome.batches = finished.len() as u64;
    outcome.done = finished.len() == batches.len();
    Ok(outcome)
}

/// Grades that were deleted.
struct DeletedGrades {
    grades: i64,
    /// Sum of the checksums of the batch without them.
    checksum: Option<i64>,
}

/// Deletes the first `limit` grades of a batch; fewer are deleted only if none is left.
async fn delete_some(
    connection: &mut Connection,
    batch: &StoredBatch,
    limit: u32,
    facets: &mut DeletedFacets,
) -> Result<DeletedGrades, DatabaseError> {
    let (first, last) = keys(batch.number);
    let rows = sql::query(
        "select key, kind, in_group, score, checksum from grades where key between $1 and $2 \
         order by key limit $3",
    )
    .bind(first)
    .bind(last)
    .bind(limit)
    .fetch_all(connection)
    .await?;
    facets.add_batch((batch.id, batch.run), &batch.caller);
    let mut checksum = batch.checksum;
    for row in &rows {
        let group: Option<Cow<'_, str>> = row.try_get("in_group")?;
        facets.add(
            (batch.id, batch.run),
            row.try_get("kind")?,
            group.as_deref(),
            row.try_get("score")?,
        );
        checksum = checksum
            .zip(row.try_get("checksum")?)
            .map(|(sum, checksum): (i64, i64)| sum.wrapping_sub(checksum));
    }
    if let Some(end) = rows.last() {
        let end: i64 = end.try_get("key")?;
        sql::query("delete from grades where key between $1 and $2")
            .bind(first)
            .bind(end)
            .execute(connection)
            .await?;
        comments::delete_up_to(connection, batch.id, position(end)).await?;
        assignments::delete_up_to(connection, batch.id, position(end)).await?;
    }
    Ok(DeletedGrades {
        grades: i64::try_from(rows.len()).unwrap_or(i64::MAX),
        checksum,
    })
}

/// Notes what is left of a batch; returns what was deleted.
async fn keep_rest(
    connection: &mut Connection,
    batch: &StoredBatch,
    deleted: &DeletedGrades,
) -> Result<HeldAmounts, DatabaseError> {
    let bytes = batch.grade_bytes / batch.grades.max(1) * deleted.grades;
    sql::query(
        "update batches set deleted = 2, grades = grades - $1, grade_bytes = grade_bytes - $2, \
         checksum = $3 where no = $4",
    )
    .bind(deleted.grades)
    .bind(bytes)
    .bind(deleted.checksum)
    .bind(batch.number)
    .execute(connection)
    .await?;
    Ok(HeldAmounts {
        grades: deleted.grades,
        grade_bytes: bytes,
        ..HeldAmounts::default()
    })
}

/// Notes that retention deleted the batches with these numbers. Adjacent numbers share a row.
async fn note_deleted(
    connection: &mut Connection,
    first: i64,
    last: i64,
) -> Result<(), DatabaseError> {
    let next: Option<i64> =
        sql::query_scalar("delete from deleted_batches where first = $1 returning last")
            .bind(last + 1)
            .fetch_optional(connection)
            .await?;
    let last = next.unwrap_or(last);
    let extended = sql::query(
        "update deleted_batches set last = $2 where last + 1 = $1 and first = (\
           select max(first) from deleted_batches where first < $1)",
    )
    .bind(first)
    .bind(last)
    .execute(connection)
    .await?;
    if extended == 0 {
        sql::query("insert into deleted_batches (first, last) values ($1, $2)")
            .bind(first)
            .bind(last)
            .execute(connection)
            .await?;
    }
    Ok(())
}
