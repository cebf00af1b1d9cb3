//! Removes what deleted batches leave behind, in passes in the order of the tables: items, uses of
//! bodies, then bodies, then packs. A body that another batch uses is moved to a pack of that batch
//! in the pass over bodies, after which no body refers to the packs that the last one deletes.
//!
//! Batches that are recorded during a sweep may use a body of a deleted batch. Before the pass over
//! bodies has reached it, their use keeps it; afterwards it is gone, and stored again.

use super::super::codec::packed_body;
use super::super::holdings::{self, HeldAmounts};
use super::super::insert::Values;
use super::super::rows::hash;
use super::super::sqlite::indexed_by;
use super::moving::{SharedBody, move_bodies};
use crate::database::DatabaseError;
use crate::database::sql::{self, Column, Connection, Row, Value};
use crate::retention_step::StepOutcome;

/// Most bytes of bodies that a step moves, unless one body is larger.
const MOVED_BYTES: u64 = 16 << 20;

/// Whether the bodies of the batch with the number `$number` are stored.
macro_rules! is_live {
    ($number:literal) => {
        concat!(
            "exists (select 1 from batches l where l.no = ",
            $number,
            " and l.deleted = 0)"
        )
    };
}

/// Whether the pack of the body `b` is missing or belongs to a deleted batch. The index has the
/// batches without the contents.
macro_rules! is_deleted {
    () => {
        concat!(
            "not exists (select 1 from packs p",
            indexed_by!("packs_owners"),
            " where p.no = b.pack and (p.batch is null or p.batch = 0 or ",
            is_live!("p.batch"),
            "))"
        )
    };
}

const ITEMS: i64 = 0;
const USES: i64 = 1;
const BODIES: i64 = 2;
const PACKS: i64 = 3;

/// A pass that deletes rows of a table with a key of two columns.
struct RowPass {
    /// Selects the row at an offset after the position.
    end: &'static str,
    /// Deletes rows after the position, up to and including another one.
    delete: &'static str,
    /// Deletes all rows after the position.
    delete_rest: &'static str,
}

macro_rules! delete_items {
    ($end:literal) => {
        concat!(
            "delete from items where (item, key) > ($1, $2)",
            $end,
            " and not exists (select 1 from batches where no = items.key >> 24)"
        )
    };
}

macro_rules! delete_uses {
    ($end:literal) => {
        concat!(
            "delete from body_uses where (hash, batch) > ($1, $2)",
            $end,
            " and batch > 0 and not ",
            is_live!("body_uses.batch")
        )
    };
}

const ITEM_PASS: RowPass = RowPass {
    end: "select item as first, key as second from items \
          where (item, key) > ($1, $2) order by item, key limit 1 offset $3",
    delete: delete_items!(" and (item, key) <= ($3, $4)"),
    delete_rest: delete_items!(""),
};

const USE_PASS: RowPass = RowPass {
    end: "select hash as first, batch as second from body_uses \
          where (hash, batch) > ($1, $2) order by hash, batch limit 1 offset $3",
    delete: delete_uses!(" and (hash, batch) <= ($3, $4)"),
    delete_rest: delete_uses!(""),
};

/// How far a sweep has come: a row of `body_sweep`.
struct Progress {
    pass: i64,
    after: Vec<u8>,
    after_number: i64,
    up_to: i64,
}

impl Progress {
    async fn read(connection: &mut Connection) -> Result<Option<Self>, DatabaseError> {
        let row = sql::query("select pass, after, after_number, up_to from body_sweep")
            .fetch_optional(connection)
            .await?;
        row.map(|row| {
            Ok(Self {
                pass: row.try_get("pass")?,
                after: row.try_get("after")?,
                after_number: row.try_get("after_number")?,
                up_to: row.try_get("up_to")?,
            })
        })
        .transpose()
    }

    /// The start of a pass.
    fn of_pass(pass: i64, up_to: i64) -> Self {
        Self {
            pass,
            after: Vec::new(),
            after_number: 0,
            up_to,
        }
    }

    async fn write(self, connection: &mut Connection) -> Result<(), DatabaseError> {
        sql::query(
            "insert into body_sweep (running, pass, after, after_number, up_to) \
             values (1, $1, $2, $3, $4) on conflict (running) do update set pass = excluded.pass, \
             after = excluded.after, after_number = excluded.after_number, up_to = excluded.up_to",
        )
        .bind(self.pass)
        .bind(self.after)
        .bind(self.after_number)
        .bind(self.up_to)
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// Begins a sweep, or begins again, because a batch is being deleted.
pub(super) async fn begin(connection: &mut Connection) -> Result<(), DatabaseError> {
    Progress::of_pass(ITEMS, 0).write(connection).await
}

/// Marks the bodies of batches as deleted. The sweep deletes them.
pub(super) async fn leave_bodies(
    connection: &mut Connection,
    batches: &[i64],
) -> Result<StepOutcome, DatabaseError> {
    Progress::of_pass(USES, 0).write(connection).await?;
    let mut left = 0;
    for number in batches {
        left += sql::query("update batches set deleted = 1 where no = $1 and deleted = 0")
            .bind(number)
            .execute(connection)
            .await?;
    }
    Ok(StepOutcome {
        batches: left,
        ..StepOutcome::DONE
    })
}

/// Looks at the next `limit` rows; `done` at the end of the last pass.
pub(super) async fn sweep(
    connection: &mut Connection,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    let Some(progress) = Progress::read(connection).await? else {
        return Ok(StepOutcome::DONE);
    };
    match progress.pass {
        ITEMS => {
            let after = String::from_utf8(progress.after).map_err(|error| DatabaseError::Row {
                table: "body_sweep",
                column: "after",
                reason: error.to_string(),
            })?;
            let after = (after, progress.after_number);
            sweep_rows(connection, ITEMS, &ITEM_PASS, after, limit).await?;
            Ok(StepOutcome::MORE)
        }
        USES => {
            let after = (progress.after, progress.after_number);
            sweep_rows(connection, USES, &USE_PASS, after, limit).await?;
            Ok(StepOutcome::MORE)
        }
        BODIES => sweep_bodies(connection, progress, limit).await,
        _ => sweep_packs(connection, progress, limit).await,
    }
}

/// Looks at the next rows of a table whose key has a column of type `K` and a number.
async fn sweep_rows<K>(
    connection: &mut Connection,
    number: i64,
    pass: &RowPass,
    after: (K, i64),
    limit: u32,
) -> Result<(), DatabaseError>
where
    K: Clone + Into<Vec<u8>> + Into<Value> + for<'r> Column<'r>,
{
    let end: Option<(K, i64)> = sql::query(pass.end)
        .bind(after.0.clone())
        .bind(after.1)
        .bind(limit.saturating_sub(1))
        .fetch_optional(connection)
        .await?
        .map(|row| Ok::<_, DatabaseError>((row.try_get("first")?, row.try_get("second")?)))
        .transpose()?;
    let mut values = Values::with_capacity(4);
    values.add(after.0).add(after.1);
    let next = if let Some((first, second)) = end {
        values.add(first.clone()).add(second);
        sql::query(pass.delete)
            .with(values.finish())
            .execute(connection)
            .await?;
        Progress {
            pass: number,
            after: first.into(),
            after_number: second,
            up_to: 0,
        }
    } else {
        sql::query(pass.delete_rest)
            .with(values.finish())
            .execute(connection)
            .await?;
        if number == ITEMS {
            Progress::of_pass(USES, 0)
        } else {
            // Packs that are added from now on have larger numbers than the empty one, also when
            // those below are deleted.
            Progress::of_pass(BODIES, add_empty_pack(connection).await?)
        }
    };
    next.write(connection).await
}

/// Larger than every hash.
fn beyond() -> Vec<u8> {
    vec![0xff; 33]
}

/// Adds an empty pack and returns its number.
async fn add_empty_pack(connection: &mut Connection) -> Result<i64, DatabaseError> {
    Ok(sql::query_scalar(
        "insert into packs (no, batch, codec, size, content) \
         select coalesce(max(no), 0) + 1, 0, 0, 0, $1 from packs returning no",
    )
    .bind(&[][..])
    .fetch_one(connection)
    .await?)
}

async fn sweep_bodies(
    connection: &mut Connection,
    progress: Progress,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    let mut end: Option<Vec<u8>> = sql::query_scalar(
        "select hash from bodies where hash > $1 order by hash limit 1 offset $2",
    )
    .bind(progress.after.as_slice())
    .bind(limit.saturating_sub(1))
    .fetch_optional(connection)
    .await?;
    let to = end.clone().unwrap_or_else(beyond);
    let mut shared = shared_bodies(connection, &progress.after, &to).await?;
    let mut bytes = 0;
    let fitting = shared.iter().take_while(|body| {
        bytes += u64::from(body.location.size);
        bytes <= MOVED_BYTES
    });
    let fitting = fitting.count().max(1);
    if fitting < shared.len() {
        shared.truncate(fitting);
        end = shared
            .last()
            .map(|body| body.location.hash.as_bytes().to_vec());
    }
    let moved = move_bodies(connection, shared).await?;
    sql::query(concat!(
        "delete from bodies as b where b.hash > $1 and b.hash <= $2 and ",
        is_deleted!()
    ))
    .bind(progress.after)
    .bind(end.clone().unwrap_or_else(beyond))
    .execute(connection)
    .await?;
    let next = match end {
        Some(after) => Progress {
            pass: BODIES,
            after,
            after_number: 0,
            up_to: progress.up_to,
        },
        None => Progress::of_pass(PACKS, progress.up_to),
    };
    next.write(connection).await?;
    Ok(StepOutcome {
        body_bytes: -moved,
        ..StepOutcome::MORE
    })
}

/// Bodies between two hashes whose packs are deleted but which batches use, in order.
async fn shared_bodies(
    connection: &mut Connection,
    after: &[u8],
    to: &[u8],
) -> Result<Vec<SharedBody>, DatabaseError> {
    let rows = sql::query(concat!(
        "select b.hash, b.kind, b.pack, b.start, b.size, \
         (select case when min(u.batch) = 0 then 0 else max(u.batch) end from body_uses u \
          where u.hash = b.hash) as owner \
         from bodies b where b.hash > $1 and b.hash <= $2 and ",
        is_deleted!(),
        " and exists (select 1 from body_uses u where u.hash = b.hash) is true \
         and exists (select 1 from packs p where p.no = b.pack) is true order by b.hash"
    ))
    .bind(after)
    .bind(to)
    .fetch_all(connection)
    .await?;
    rows.iter().map(shared_body).collect()
}

fn shared_body(row: &Row) -> Result<SharedBody, DatabaseError> {
    let hash = hash(row.try_get("hash")?, "bodies", "hash")?;
    Ok(SharedBody {
        location: packed_body(row, hash)?,
        pack: row.try_get("pack")?,
        owner: row.try_get("owner")?,
    })
}

/// A statement on the packs of batches with a number above `$1` and at most `$2` that are deleted.
macro_rules! for_deleted_packs {
    ($statement:literal) => {
        concat!(
            $statement,
            indexed_by!("packs_by_batch"),
            " where batch > 0 and batch > $1 and batch <= $2 and no < $3 and not ",
            is_live!("packs.batch")
        )
    };
}

async fn sweep_packs(
    connection: &mut Connection,
    progress: Progress,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    let end: Option<i64> = sql::query_scalar(concat!(
        "select batch from packs",
        indexed_by!("packs_by_batch"),
        " where batch > 0 and batch > $1 order by batch limit 1 offset $2"
    ))
    .bind(progress.after_number)
    .bind(limit.saturating_sub(1))
    .fetch_optional(connection)
    .await?;
    let to = end.unwrap_or(i64::MAX);
    let of_range = |sql| {
        sql::query(sql)
            .bind(progress.after_number)
            .bind(to)
            .bind(progress.up_to)
    };
    let sum = for_deleted_packs!("select coalesce(sum(length(content)), 0) from packs");
    let bytes: i64 = of_range(sum).scalar().fetch_one(connection).await?;
    of_range(for_deleted_packs!("delete from packs"))
        .execute(connection)
        .await?;
    count_left(connection, progress.after_number, to).await?;
    let outcome = StepOutcome {
        body_bytes: bytes,
        ..StepOutcome::MORE
    };
    if let Some(after_number) = end {
        let next = Progress {
            after_number,
            ..progress
        };
        next.write(connection).await?;
        return Ok(outcome);
    }
    // The last pack is kept: numbers of packs are not used again.
    sql::query("delete from packs where no = $1 and exists (select 1 from packs where no > $1)")
        .bind(progress.up_to)
        .execute(connection)
        .await?;
    sql::query("delete from body_sweep")
        .execute(connection)
        .await?;
    Ok(StepOutcome {
        done: true,
        ..outcome
    })
}

/// Counts the packs of batches that stay without their bodies.
async fn count_left(connection: &mut Connection, after: i64, to: i64) -> Result<(), DatabaseError> {
    let rows = sql::query(
        "select no, run, caller, pack_bytes, (select coalesce(sum(length(content)), 0) from packs \
         where batch = batches.no and batch > 0) as kept_bytes from batches \
         where no > $1 and no <= $2 and deleted > 0 and pack_bytes > 0",
    )
    .bind(after)
    .bind(to)
    .fetch_all(connection)
    .await?;
    for row in rows {
        let (stored, left): (i64, i64) = (row.try_get("pack_bytes")?, row.try_get("kept_bytes")?);
        sql::query("update batches set pack_bytes = $1 where no = $2")
            .bind(left)
            .bind(row.try_get::<i64>("no")?)
            .execute(connection)
            .await?;
        let caller: String = row.try_get("caller")?;
        let change = HeldAmounts {
            pack_bytes: left - stored,
            ..HeldAmounts::default()
        };
        holdings::change(connection, row.try_get("run")?, &caller, change).await?;
    }
    Ok(())
}
