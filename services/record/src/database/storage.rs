//! Reads what the database holds, and the batches that a prune deletes. Sums are read and not
//! computed, so that a large record takes no longer than a small one.

use assay_core::BatchId;

use super::query::run_number;
use super::retention;
use super::rows::{batch_id, count, id_bytes};
use super::space::size;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection, QueryBuilder};
use crate::retention_step::{Interrupted, PruneTarget, PrunedBatch};
use crate::storage::{Holding, PruneEstimate, PruneFilter, ReplyHolding, StorageReport, Totals};

/// Microseconds of a unit of time in ids.
const MILLISECOND_US: i64 = 1_000;

/// The number of a run that does not exist.
const NO_SUCH_RUN: i64 = -1;

async fn number(connection: &mut Connection, query: &'static str) -> Result<i64, DatabaseError> {
    Ok(sql::query_scalar(query).fetch_one(connection).await?)
}

/// What the database holds, with at most `limit` holdings. Does not fill in what is outside of the
/// database.
pub(crate) async fn storage_report(
    connection: &mut Connection,
    limit: u32,
) -> Result<StorageReport, DatabaseError> {
    let size = size(connection).await?;
    let row = sql::query(
        "select count(*) as holdings, cast(coalesce(sum(batches), 0) as bigint) as batches, \
         cast(coalesce(sum(grades), 0) as bigint) as grades, \
         cast(coalesce(sum(grade_bytes), 0) as bigint) as grade_bytes, \
         cast(coalesce(sum(pack_bytes), 0) as bigint) as pack_bytes from holdings",
    )
    .fetch_one(connection)
    .await?;
    let total = Totals {
        batches: count(row.try_get("batches")?),
        grades: count(row.try_get("grades")?),
        grade_bytes: count(row.try_get("grade_bytes")?),
        body_bytes: count(row.try_get("pack_bytes")?),
        holdings: count(row.try_get("holdings")?),
    };
    let rows = sql::query(
        "select r.name, h.caller, h.batches, h.grades, h.grade_bytes, h.pack_bytes \
         from holdings h left join runs r on r.no = h.run \
         order by h.grade_bytes + h.pack_bytes desc, h.run, h.caller limit $1",
    )
    .bind(limit)
    .fetch_all(connection)
    .await?;
    let holdings = rows
        .iter()
        .map(|row| {
            Ok(Holding {
                run: row.try_get("name")?,
                caller: row.try_get("caller")?,
                batches: count(row.try_get("batches")?),
                grades: count(row.try_get("grades")?),
                grade_bytes: count(row.try_get("grade_bytes")?),
                body_bytes: count(row.try_get("pack_bytes")?),
            })
        })
        .collect::<Result<_, DatabaseError>>()?;
    let rows = sql::query(
        "select caller, replies, bytes from reply_holdings where replies > 0 \
         order by bytes desc, caller limit $1",
    )
    .bind(limit)
    .fetch_all(connection)
    .await?;
    let replies = rows
        .iter()
        .map(|row| {
            Ok(ReplyHolding {
                caller: row.try_get("caller")?,
                replies: count(row.try_get("replies")?),
                bytes: count(row.try_get("bytes")?),
            })
        })
        .collect::<Result<_, DatabaseError>>()?;
    let uncounted = "select count(*) from (\
                       select 1 from batches where grades is null limit 1000000) as uncounted";
    let oldest: Option<i64> = sql::query_scalar("select first_us from batches order by id limit 1")
        .fetch_optional(connection)
        .await?;
    let with_bodies = "select first_us from batches where deleted = 0 order by id limit 1";
    let oldest_bodies: Option<i64> = sql::query_scalar(with_bodies)
        .fetch_optional(connection)
        .await?;
    let permanent = "select cast(coalesce(sum(bytes), 0) as bigint) from permanent_holdings";
    Ok(StorageReport {
        file_bytes: size.file_bytes,
        permanent_bytes: count(number(connection, permanent).await?),
        free_bytes: size.free_bytes,
        shrinks: size.shrinks,
        total,
        holdings,
        replies,
        uncounted_batches: count(number(connection, uncounted).await?),
        oldest_us: oldest,
        oldest_bodies_us: oldest_bodies,
        ..StorageReport::default()
    })
}

/// Looks up the runs of a filter.
pub(crate) async fn prune_target(
    connection: &mut Connection,
    filter: &PruneFilter,
) -> Result<PruneTarget, DatabaseError> {
    let mut runs = Vec::new();
    for name in &filter.runs {
        let number = run_number(connection, name).await?;
        runs.push(number.unwrap_or(NO_SUCH_RUN));
    }
    let (mut keep, mut unknown) = (Vec::new(), Vec::new());
    for name in &filter.keep_runs {
        match run_number(connection, name).await? {
            Some(number) => keep.push(number),
            None => unknown.push(name.clone()),
        }
    }
    Ok(PruneTarget {
        runs: (!runs.is_empty()).then_some(runs),
        keep,
        unknown,
        caller: filter.caller.clone(),
        before_us: filter.before_us,
        up_to: number(connection, "select coalesce(max(no), 0) from batches").await?,
        bodies_only: filter.bodies_only,
        channels: filter.channels.clone(),
    })
}

fn conditions(query: &mut QueryBuilder, target: &PruneTarget) {
    query.push(" where no <= ").push_bind(target.up_to);
    if target.bodies_only {
        query.push(" and deleted = 0");
    }
    let mut list = |condition: &str, numbers: &[i64]| {
        query.push(condition);
        query.push_list(numbers.iter().copied());
        query.push(")");
    };
    if let Some(runs) = &target.runs {
        list(" and run in (", runs);
    }
    if !target.keep.is_empty() {
        list(" and run not in (", &target.keep);
    }
    if let Some(caller) = &target.caller {
        query.push(" and caller = ").push_bind(caller.clone());
    }
    if let Some(before) = target.before_us {
        // A batch is not older than its id, so later ids need not be read.
        let end = before.div_euclid(MILLISECOND_US).max(0).unsigned_abs() + 1;
        query
            .push(" and last_us < ")
            .push_bind(before)
            .push(" and id < ")
            .push_bind(id_bytes(u128::from(end) << 80));
    }
}

/// What a prune would delete.
pub(crate) async fn prune_estimate(
    connection: &mut Connection,
    target: &PruneTarget,
) -> Result<PruneEstimate, DatabaseError> {
    if let Some(filter) = &target.channels {
        let (channels, calibrated_channels) =
            retention::channels::estimate(connection, filter).await?;
        return Ok(PruneEstimate {
            channels,
            calibrated_channels,
            ..PruneEstimate::default()
        });
    }
    let mut query = QueryBuilder::new(
        "select count(*) as batches, cast(coalesce(sum(grades), 0) as bigint) as grades, \
         cast(coalesce(sum(grade_bytes), 0) as bigint) as grade_bytes, \
         cast(coalesce(sum(pack_bytes), 0) as bigint) as pack_bytes, \
         count(*) - count(grades) as uncounted from batches",
    );
    conditions(&mut query, target);
    let row = query
        .build()
        .persistent(false)
        .fetch_one(connection)
        .await?;
    let of_grades = |column| -> Result<u64, DatabaseError> {
        Ok(if target.bodies_only {
            0
        } else {
            count(row.try_get(column)?)
        })
    };
    Ok(PruneEstimate {
        batches: count(row.try_get("batches")?),
        grades: of_grades("grades")?,
        grade_bytes: of_grades("grade_bytes")?,
        body_bytes: count(row.try_get("pack_bytes")?),
        uncounted_batches: count(row.try_get("uncounted")?),
        unknown_runs: target.unknown.clone(),
        ..PruneEstimate::default()
    })
}

/// The next batches to delete, in the order of their ids.
pub(crate) async fn next_batches(
    connection: &mut Connection,
    target: &PruneTarget,
    after: BatchId,
    limit: u32,
) -> Result<Vec<PrunedBatch>, DatabaseError> {
    let mut query = QueryBuilder::new(
        "select no, id, run, coalesce(grade_bytes, 0) as grade_bytes, \
         coalesce(pack_bytes, 0) as pack_bytes from batches",
    );
    conditions(&mut query, target);
    query
        .push(" and id > ")
        .push_bind(id_bytes(after))
        .push(format_args!(" order by id limit {limit}"));
    let rows = query
        .build()
        .persistent(false)
        .fetch_all(connection)
        .await?;
    rows.iter()
        .map(|row| {
            let bodies = count(row.try_get("pack_bytes")?);
            let grades = count(row.try_get("grade_bytes")?);
            Ok(PrunedBatch {
                number: row.try_get("no")?,
                id: batch_id(row.try_get("id")?, "batches")?,
                run: row.try_get("run")?,
                bytes: if target.bodies_only {
                    bodies
                } else {
                    bodies + grades
                },
            })
        })
        .collect()
}

/// What a node that ended left unfinished.
pub(crate) async fn interrupted(connection: &mut Connection) -> Result<Interrupted, DatabaseError> {
    let batches =
        sql::query_scalar("select no from batches where deleted = 2 order by no limit 64")
            .fetch_all(connection)
            .await?;
    let run = retention::runs::next(connection).await?;
    let sweep: Option<i64> = sql::query_scalar("select running from body_sweep")
        .fetch_optional(connection)
        .await?;
    Ok(Interrupted {
        batches,
        runs: run.is_some(),
        sweep: sweep.is_some(),
    })
}
