//! The batches that are in the index of texts.

use std::collections::BTreeMap;

use crate::database::DatabaseError;
use crate::database::indexed::{IndexedBatch, read_batches};
use crate::database::rows::id_bytes;
use crate::database::sql::{self, Connection};

/// The batches with a number above `after` and at most `up_to` that are in the index.
pub(super) async fn indexed_batches(
    connection: &mut Connection,
    after: i64,
    up_to: i64,
) -> Result<BTreeMap<i64, IndexedBatch>, DatabaseError> {
    let rows =
        sql::query("select batch as no, id, grades from indexed where batch > $1 and batch <= $2")
            .bind(after)
            .bind(up_to)
            .fetch_all(connection)
            .await?;
    read_batches(&rows, "indexed")
}

/// The largest number of a batch in the index.
pub(super) async fn last_indexed(connection: &mut Connection) -> Result<i64, DatabaseError> {
    Ok(
        sql::query_scalar("select coalesce(max(batch), 0) from indexed")
            .fetch_one(connection)
            .await?,
    )
}

/// Notes that a batch is in the index.
pub(super) async fn set_indexed(
    connection: &mut Connection,
    number: i64,
    batch: &IndexedBatch,
) -> Result<(), DatabaseError> {
    sql::query(
        "insert into indexed (batch, id, grades) values ($1, $2, $3) \
         on conflict (batch) do update set id = excluded.id, grades = excluded.grades",
    )
    .bind(number)
    .bind(id_bytes(batch.id))
    .bind(batch.grades)
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes that a batch is not in the index. It must have no rows.
pub(super) async fn unset_indexed(
    connection: &mut Connection,
    number: i64,
) -> Result<(), DatabaseError> {
    sql::query("delete from indexed where batch = $1")
        .bind(number)
        .execute(connection)
        .await?;
    Ok(())
}
