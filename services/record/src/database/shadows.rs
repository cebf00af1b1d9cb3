//! Statements about shadows.

use assay_core::BatchId;
use sqlx::AssertSqlSafe;

use super::insert::Values;
use super::rows::{POSITION_BITS, batch_id, count, id_bytes, key, position};
use super::sql::{self, Connection, Row};
use crate::database::DatabaseError;
use crate::shadow::{NewShadow, Shadow, ShadowBatch, ShadowChange, ShadowPosition};

const SHADOWS: &str = "shadows";
const BATCHES: &str = "batches";

const COLUMNS: &str = "select id, run, caller, part, options, started_us, next, summary, ended_us, \
     promoted_us, withdrawn_us from shadows";

/// Starts a shadow; `false` if one of the run is open.
pub(crate) async fn start(
    connection: &mut Connection,
    shadow: &NewShadow,
    now_us: i64,
) -> Result<bool, DatabaseError> {
    let next = if shadow.from_start {
        0
    } else {
        let sql = "select coalesce(max(no), 0) from batches";
        let last: i64 = sql::query_scalar(sql).fetch_one(connection).await?;
        key(last + 1, 0)
    };
    let mut values = Values::with_capacity(7);
    values
        .add(id_bytes(shadow.id))
        .add(shadow.run.as_str())
        .add(shadow.caller.as_str())
        .add(shadow.part)
        .add(shadow.options.as_str())
        .add(now_us)
        .add(next);
    let sql = "insert into shadows (id, run, caller, part, options, started_us, next) \
               values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing";
    let added = sql::query(sql).with(values.finish()).execute(connection);
    Ok(added.await? > 0)
}

/// The newest shadow of a run.
pub(crate) async fn newest(
    connection: &mut Connection,
    run: &str,
) -> Result<Option<Shadow>, DatabaseError> {
    let sql = format!("{COLUMNS} where run = $1 order by id desc limit 1");
    let row = sql::query(AssertSqlSafe(sql))
        .bind(run)
        .fetch_optional(connection);
    row.await?.as_ref().map(read).transpose()
}

/// The shadows of all runs that are open.
pub(crate) async fn open(connection: &mut Connection) -> Result<Vec<Shadow>, DatabaseError> {
    let sql = format!("{COLUMNS} where ended_us is null order by id");
    let rows = sql::query(AssertSqlSafe(sql)).fetch_all(connection).await?;
    rows.iter().map(read).collect()
}

/// The fields of runs whose shadow was promoted, with its id.
pub(crate) async fn promoted(connection: &mut Connection) -> Result<Vec<Shadow>, DatabaseError> {
    let sql =
        format!("{COLUMNS} where promoted_us is not null and withdrawn_us is null order by run");
    let rows = sql::query(AssertSqlSafe(sql)).fetch_all(connection).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Shadow, DatabaseError> {
    Ok(Shadow {
        id: batch_id(row.try_get("id")?, SHADOWS)?,
        run: row.try_get("run")?,
        caller: row.try_get("caller")?,
        part: row.try_get("part")?,
        options: row.try_get("options")?,
        started_us: row.try_get("started_us")?,
        next: ShadowPosition(row.try_get("next")?),
        summary: row.try_get("summary")?,
        ended_us: row.try_get("ended_us")?,
        promoted_us: row.try_get("promoted_us")?,
        withdrawn_us: row.try_get("withdrawn_us")?,
    })
}

/// At most `limit` batches of a run from a position on, in the order of their arrival.
pub(crate) async fn batches(
    connection: &mut Connection,
    run: &str,
    from: ShadowPosition,
    limit: u32,
) -> Result<Vec<ShadowBatch>, DatabaseError> {
    let first = from.0 >> POSITION_BITS;
    let sql = "select b.no, b.id, b.items, b.received_us, (select count(*) from grades g \
               where g.key between b.no * 16777216 and b.no * 16777216 + 16777215) as stored \
               from batches b join runs r on r.no = b.run \
               where r.name = $1 and b.no >= $2 order by b.no limit $3";
    let rows = sql::query(sql)
        .bind(run)
        .bind(first)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let read = |row: &Row| -> Result<ShadowBatch, DatabaseError> {
        let number: i64 = row.try_get("no")?;
        let items = u32::try_from(count(row.try_get("items")?)).unwrap_or(u32::MAX);
        let from = if number == first { position(from.0) } else { 0 };
        Ok(ShadowBatch {
            number,
            id: batch_id(row.try_get("id")?, BATCHES)?,
            from,
            items,
            is_complete: count(row.try_get("stored")?) >= u64::from(items),
            received_us: row.try_get("received_us")?,
        })
    };
    let batches: Result<Vec<_>, _> = rows.iter().map(read).collect();
    Ok(batches?
        .into_iter()
        .filter(|batch| batch.from < batch.items)
        .collect())
}

/// Continues a shadow from `to`, with what was found; `false` if another node was faster, or if it
/// has ended.
pub(crate) async fn advance(
    connection: &mut Connection,
    shadow: (BatchId, ShadowPosition),
    to: ShadowPosition,
    summary: Option<&str>,
) -> Result<bool, DatabaseError> {
    let sql = "update shadows set next = $3, summary = $4 \
               where id = $1 and next = $2 and ended_us is null";
    let changed = sql::query(sql)
        .bind(id_bytes(shadow.0))
        .bind(shadow.1.0)
        .bind(to.0)
        .bind(summary)
        .execute(connection);
    Ok(changed.await? > 0)
}

/// Changes a shadow; `false` if that has happened before.
pub(crate) async fn change(
    connection: &mut Connection,
    shadow: BatchId,
    change: ShadowChange,
    now_us: i64,
) -> Result<bool, DatabaseError> {
    let sql = match change {
        ShadowChange::End => "update shadows set ended_us = $2 where id = $1 and ended_us is null",
        ShadowChange::Promote => {
            "update shadows set promoted_us = $2, ended_us = coalesce(ended_us, $2) \
             where id = $1 and promoted_us is null"
        }
        ShadowChange::Withdraw => {
            "update shadows set withdrawn_us = $2 \
             where id = $1 and promoted_us is not null and withdrawn_us is null"
        }
    };
    let changed = sql::query(sql)
        .bind(id_bytes(shadow))
        .bind(now_us)
        .execute(connection);
    Ok(changed.await? > 0)
}
