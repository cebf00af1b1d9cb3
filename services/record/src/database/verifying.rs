//! Reads the tables for `verify`.

use std::borrow::Cow;
use std::fmt::Write as _;

use assay_core::{BatchId, Hash};

use super::codec::{codec, packed_body};
use super::rows::{CheckedGrade, SELECT_GRADE, batch_id, hash, key, read_checked};
use super::{query, schema};
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection, Row};
use crate::pending::packs::{Compressed, PackedBody};
use crate::spool::Position;
use sqlx::AssertSqlSafe;

/// A batch, with what it should have.
pub(crate) struct VerifiedBatch {
    pub(crate) number: i64,
    pub(crate) id: BatchId,
    /// Number of its positions.
    pub(crate) items: u32,
    /// Number of its grades; `None` if they are not counted.
    pub(crate) grades: Option<i64>,
    /// Sum of their checksums.
    pub(crate) checksum: Option<i64>,
    /// Whether its bodies were not deleted.
    pub(crate) has_bodies: bool,
}

/// The location of a body.
pub(crate) struct StoredBody {
    pub(crate) location: PackedBody,
    pub(crate) pack: i64,
}

/// Whether the schema has documents of grades; one of an earlier release has not.
pub(crate) async fn has_documents(connection: &mut Connection) -> Result<bool, sqlx::Error> {
    schema::has_column(connection, "grades", "document").await
}

/// Position up to which the spool with this name is applied.
pub(crate) async fn progress(
    connection: &mut Connection,
    spool: &str,
) -> Result<Position, DatabaseError> {
    query::progress(connection, spool).await
}

/// The batches with a number above `after`, in order.
pub(crate) async fn batches(
    connection: &mut Connection,
    after: i64,
    limit: u32,
) -> Result<Vec<VerifiedBatch>, DatabaseError> {
    let rows = sql::query(
        "select no, id, items, grades, checksum, deleted = 0 as has_bodies from batches \
         where no > $1 order by no limit $2",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(VerifiedBatch {
                number: row.try_get("no")?,
                id: batch_id(row.try_get("id")?, "batches")?,
                items: row.try_get("items")?,
                grades: row.try_get("grades")?,
                checksum: row.try_get("checksum")?,
                has_bodies: row.try_get("has_bodies")?,
            })
        })
        .collect()
}

/// The grades of a batch, in order.
pub(crate) async fn grades(
    connection: &mut Connection,
    number: i64,
) -> Result<Vec<CheckedGrade>, DatabaseError> {
    let select = format!(
        "{SELECT_GRADE} from grades g cross join batches b cross join kinds k \
         where b.no = g.key >> 24 and k.no = g.kind and g.key between $1 and $2 order by g.key"
    );
    let rows = sql::query(AssertSqlSafe(select))
        .bind(key(number, 0))
        .bind(key(number + 1, 0) - 1)
        .fetch_all(connection)
        .await?;
    read_checked(connection, &rows).await
}

/// The packs that grades of a batch use although another batch has them.
pub(crate) async fn other_documents(
    connection: &mut Connection,
    number: i64,
) -> Result<Vec<i64>, DatabaseError> {
    Ok(sql::query_scalar(
        "select distinct g.document from grades g join documents d on d.no = g.document \
         where g.key between $1 and $2 and d.batch <> $3",
    )
    .bind(key(number, 0))
    .bind(key(number + 1, 0) - 1)
    .bind(number)
    .fetch_all(connection)
    .await?)
}

/// The packs of documents without a batch, with the number of the batch that they name.
pub(crate) async fn documents_without_batch(
    connection: &mut Connection,
) -> Result<Vec<(i64, i64)>, DatabaseError> {
    let rows = sql::query(
        "select no, batch from documents where batch not in (select no from batches) limit 100",
    )
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| Ok((row.try_get("no")?, row.try_get("batch")?)))
        .collect()
}

/// Number of grades of batches with numbers between two others.
pub(crate) async fn grades_between(
    connection: &mut Connection,
    last: i64,
    next: i64,
) -> Result<i64, DatabaseError> {
    Ok(
        sql::query_scalar("select count(*) from grades where key >= $1 and key < $2")
            .bind(key(last + 1, 0))
            .bind(key(next, 0))
            .fetch_one(connection)
            .await?,
    )
}

/// The number from which on a missing number is damage. Earlier releases skipped numbers, and a
/// schema of such a release does not have the table.
pub(crate) async fn first_without_gaps(connection: &mut Connection) -> Result<i64, DatabaseError> {
    if !schema::has_table(connection, "batch_numbers").await? {
        return Ok(i64::MAX);
    }
    Ok(
        sql::query_scalar("select coalesce(max(first), 1) from batch_numbers")
            .fetch_one(connection)
            .await?,
    )
}

/// Ranges of numbers between two others that retention did not delete.
pub(crate) async fn missing_between(
    connection: &mut Connection,
    last: i64,
    next: i64,
) -> Result<Vec<(i64, i64)>, DatabaseError> {
    let deleted = sql::query(
        "select first, last from deleted_batches where last > $1 and first < $2 order by first",
    )
    .bind(last)
    .bind(next)
    .fetch_all(connection)
    .await?;
    let (mut missing, mut at) = (Vec::new(), last + 1);
    for row in deleted {
        let (first, end): (i64, i64) = (row.try_get("first")?, row.try_get("last")?);
        if first > at {
            missing.push((at, first - 1));
        }
        at = at.max(end + 1);
    }
    if at < next {
        missing.push((at, next - 1));
    }
    Ok(missing)
}

/// Where a body is.
pub(crate) async fn body(
    connection: &mut Connection,
    hash: Hash,
) -> Result<Option<StoredBody>, DatabaseError> {
    let row = sql::query("select kind, pack, start, size from bodies where hash = $1")
        .bind(&hash.as_bytes()[..])
        .fetch_optional(connection)
        .await?;
    row.map(|row| {
        Ok(StoredBody {
            location: packed_body(&row, hash)?,
            pack: row.try_get("pack")?,
        })
    })
    .transpose()
}

/// A pack.
pub(crate) async fn pack(
    connection: &mut Connection,
    number: i64,
) -> Result<Option<Compressed>, DatabaseError> {
    let row = sql::query("select codec, size, content from packs where no = $1")
        .bind(number)
        .fetch_optional(connection)
        .await?;
    row.map(|row| {
        Ok(Compressed {
            codec: codec("packs", row.try_get("codec")?)?,
            size: row.try_get("size")?,
            content: row.try_get("content")?,
        })
    })
    .transpose()
}

/// Bodies to which other rows than grades refer, with a name for each.
pub(crate) async fn other_bodies(
    connection: &mut Connection,
) -> Result<Vec<(String, Hash)>, DatabaseError> {
    let rows = sql::query(
        "select 'policy ' || policy as name, policy_hash as hash from kinds \
         where policy_hash is not null \
         union all select 'pair ' || cast(no as text), pair from pairs",
    )
    .fetch_all(connection)
    .await?;
    let mut bodies = rows
        .iter()
        .map(|row| Ok((row.try_get("name")?, body_hash(row)?)))
        .collect::<Result<Vec<_>, DatabaseError>>()?;
    let rows = sql::query("select id, report as hash from dataset_checks")
        .fetch_all(connection)
        .await?;
    for row in &rows {
        let id: &[u8] = row.try_get("id")?;
        let mut name = "report of dataset check ".to_owned();
        for byte in id {
            let _ = write!(name, "{byte:02X}");
        }
        bodies.push((name, body_hash(row)?));
    }
    Ok(bodies)
}

fn body_hash(row: &Row) -> Result<Hash, DatabaseError> {
    hash(row.try_get("hash")?, "bodies", "hash")
}

/// Holdings that differ from the sums over the counted batches. Finds batches that were removed
/// from the end, of which no gap in the numbers is left.
pub(crate) async fn sums(
    connection: &mut Connection,
) -> Result<Vec<(String, String)>, DatabaseError> {
    let rows = sql::query(
        "select coalesce(r.name, '(none)') as run, s.caller, cast(sum(s.held) as bigint) as held, \
         cast(sum(s.counted) as bigint) as counted from (\
           select run, caller, grades as held, 0 as counted from holdings \
           union all select run, caller, 0, grades from batches where grades is not null) s \
         left join runs r on r.no = s.run group by s.run, r.name, s.caller \
         having sum(s.held) <> sum(s.counted)",
    )
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| {
            let (run, caller): (Cow<'_, str>, Cow<'_, str>) =
                (row.try_get("run")?, row.try_get("caller")?);
            let (held, counted): (i64, i64) = (row.try_get("held")?, row.try_get("counted")?);
            Ok((
                format!("run {run} of caller {caller}"),
                format!("should have {held} grades, but its batches have {counted}"),
            ))
        })
        .collect()
}
