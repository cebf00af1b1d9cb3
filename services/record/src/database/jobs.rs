//! Statements that write jobs and their shards. Each is a transaction of its own. Nodes claim a
//! shard by an update that requires it to be free, so that only one of them succeeds; it needs no
//! lock.

use assay_core::{BatchId, Hash};

use super::codec::codec;
use super::insert::Values;
use super::rows::{batch_id, count, hash, id_bytes};
use super::sql::{self, Connection, Row};
use crate::database::DatabaseError;
use crate::job::{
    ClaimedShard, JobKind, KeyedJob, NewJob, NewShard, OpenJob, ShardOutcome, ShardState,
};
use crate::pending::packs::{Compressed, decompress};

const JOBS: &str = "jobs";
const SHARDS: &str = "job_shards";

const WAITING: i64 = ShardState::Waiting.number();
const RUNNING: i64 = ShardState::Running.number();
const DONE: i64 = ShardState::Done.number();
const SET_ASIDE: i64 = ShardState::SetAside.number();

/// Most open jobs that a node chooses from.
const MAX_OPEN: u32 = 1_000;

/// Adds a job; `false` if the caller has another one with the same key.
pub(crate) async fn begin(
    connection: &mut Connection,
    job: &NewJob,
    holder: &str,
    now_us: i64,
) -> Result<bool, DatabaseError> {
    let mut values = Values::with_capacity(11);
    values
        .add(id_bytes(job.id))
        .add(job.kind.as_str())
        .add(job.caller.as_str())
        .add(job.share.as_str())
        .add(job.run.as_deref())
        .add(job.step)
        .add(job.policy.as_deref())
        .add(job.key.as_deref())
        .add(holder)
        .add(now_us)
        .add(job.options.as_deref());
    let sql = "insert into jobs (id, kind, caller, share, run, step, policy, key, holder, \
               submitted_us, options) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
               on conflict do nothing";
    let added = sql::query(sql).with(values.finish()).execute(connection);
    Ok(added.await? > 0)
}

/// The job of a caller with this key.
pub(crate) async fn of_key(
    connection: &mut Connection,
    caller: &str,
    key: &str,
) -> Result<Option<KeyedJob>, DatabaseError> {
    let row = sql::query("select id, request from jobs where caller = $1 and key = $2")
        .bind(caller)
        .bind(key)
        .fetch_optional(connection)
        .await?;
    let read = |row: &Row| -> Result<KeyedJob, DatabaseError> {
        let request: Option<&[u8]> = row.try_get("request")?;
        Ok(KeyedJob {
            id: batch_id(row.try_get("id")?, JOBS)?,
            request: request
                .map(|bytes| hash(bytes, JOBS, "request"))
                .transpose()?,
        })
    };
    row.as_ref().map(read).transpose()
}

/// Adds a shard, whose lines are compressed, to a job that is received.
pub(crate) async fn add_shard(
    connection: &mut Connection,
    job: BatchId,
    shard: &NewShard,
    lines: &Compressed,
) -> Result<(), DatabaseError> {
    let mut values = Values::with_capacity(8);
    values
        .add(id_bytes(job))
        .add(i64::from(shard.no))
        .add(WAITING)
        .add_count(shard.first_line)
        .add(i64::from(shard.items))
        .add(lines.codec.number())
        .add(i64::from(lines.size))
        .add(lines.content.as_slice());
    let sql = "insert into job_shards (job, no, state, first_line, items, codec, size, content) \
               values ($1, $2, $3, $4, $5, $6, $7, $8)";
    sql::query(sql)
        .with(values.finish())
        .execute(connection)
        .await?;
    Ok(())
}

/// All shards of a job are added. It is graded from now on.
pub(crate) async fn complete(
    connection: &mut Connection,
    job: BatchId,
    request: Hash,
    now_us: i64,
) -> Result<(), DatabaseError> {
    sql::query("update jobs set received_us = $2, request = $3 where id = $1")
        .bind(id_bytes(job))
        .bind(now_us)
        .bind(request)
        .execute(connection)
        .await?;
    Ok(())
}

/// Deletes a job with its shards.
pub(crate) async fn delete(connection: &mut Connection, job: BatchId) -> Result<(), DatabaseError> {
    for sql in [
        "delete from job_shards where job = $1",
        "delete from jobs where id = $1",
    ] {
        sql::query(sql)
            .bind(id_bytes(job))
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// The open jobs of the kinds that this release knows, oldest first.
pub(crate) async fn open(connection: &mut Connection) -> Result<Vec<OpenJob>, DatabaseError> {
    let sql = "select id, kind, caller, share, run, step, policy, options from jobs \
               where finished_us is null and cancelled_us is null and received_us is not null \
               order by id limit $1";
    let rows = sql::query(sql).bind(MAX_OPEN).fetch_all(connection).await?;
    let read = |row: &Row| -> Result<Option<OpenJob>, DatabaseError> {
        let kind: String = row.try_get("kind")?;
        let Some(kind) = JobKind::from_name(&kind) else {
            return Ok(None);
        };
        Ok(Some(OpenJob {
            id: batch_id(row.try_get("id")?, JOBS)?,
            kind,
            caller: row.try_get("caller")?,
            share: row.try_get("share")?,
            run: row.try_get("run")?,
            step: row.try_get("step")?,
            policy: row.try_get("policy")?,
            options: row.try_get("options")?,
        }))
    };
    rows.iter()
        .filter_map(|row| read(row).transpose())
        .collect()
}

/// The first shard of a job, from number `from` on, that is not graded and that no node grades. One
/// that was cancelled has no lines.
pub(crate) async fn next_free(
    connection: &mut Connection,
    job: BatchId,
    from: u32,
    now_us: i64,
) -> Result<Option<u32>, DatabaseError> {
    let sql = "select no from job_shards where job = $1 and state in (0, 1) and no >= $2 \
               and until_us <= $3 and content is not null order by no limit 1";
    let row = sql::query(sql)
        .bind(id_bytes(job))
        .bind(from)
        .bind(now_us)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| row.try_get("no")).transpose()?)
}

/// Claims a shard with a lease; `None` if another node was faster. `batch` is the id of its batch
/// unless an earlier try chose one.
pub(crate) async fn claim(
    connection: &mut Connection,
    (job, no): (BatchId, u32),
    holder: &str,
    batch: BatchId,
    (now_us, until_us): (i64, i64),
) -> Result<Option<ClaimedShard>, DatabaseError> {
    let mut values = Values::with_capacity(7);
    values
        .add(id_bytes(job))
        .add(i64::from(no))
        .add(RUNNING)
        .add(holder)
        .add(id_bytes(batch))
        .add(now_us)
        .add(until_us);
    let sql = "update job_shards set state = $3, holder = $4, batch = coalesce(batch, $5), \
               claimed_us = $6, until_us = $7, tries = tries + 1 \
               where job = $1 and no = $2 and state in (0, 1) and until_us <= $6 \
               and content is not null \
               returning first_line, items, batch, tries, reason, codec, size, content";
    let row = sql::query(sql)
        .with(values.finish())
        .fetch_optional(connection)
        .await?;
    let read = |row: &Row| -> Result<ClaimedShard, DatabaseError> {
        Ok(ClaimedShard {
            no,
            first_line: count(row.try_get("first_line")?),
            items: row.try_get("items")?,
            batch: batch_id(row.try_get("batch")?, SHARDS)?,
            tries: row.try_get("tries")?,
            reason: row.try_get("reason")?,
            content: lines(row)?.unwrap_or_default(),
        })
    };
    row.as_ref().map(read).transpose()
}

/// The lines of a shard, from its row; `None` if they are deleted.
pub(crate) fn lines(row: &Row) -> Result<Option<Vec<u8>>, DatabaseError> {
    let content: Option<Vec<u8>> = row.try_get("content")?;
    let Some(content) = content else {
        return Ok(None);
    };
    let compressed = Compressed {
        codec: codec(SHARDS, row.try_get("codec")?)?,
        size: row.try_get("size")?,
        content,
    };
    Ok(Some(decompress(&compressed)?))
}

/// Extends the lease of a shard, if the node still has it.
pub(crate) async fn extend(
    connection: &mut Connection,
    (job, no): (BatchId, u32),
    holder: &str,
    until_us: i64,
) -> Result<(), DatabaseError> {
    let sql = "update job_shards set until_us = $4 \
               where job = $1 and no = $2 and holder = $3 and state = 1";
    sql::query(sql)
        .bind(id_bytes(job))
        .bind(no)
        .bind(holder)
        .bind(until_us)
        .execute(connection)
        .await?;
    Ok(())
}

/// Gives a shard back that this node has; it may be tried again from `until_us` on. The try counts
/// only with a `reason`.
pub(crate) async fn release(
    connection: &mut Connection,
    (job, no): (BatchId, u32),
    holder: &str,
    until_us: i64,
    reason: Option<&str>,
) -> Result<(), DatabaseError> {
    let sql = "update job_shards set state = $4, until_us = $5, reason = coalesce($6, reason), \
               tries = tries - $7 where job = $1 and no = $2 and holder = $3 and state = 1";
    sql::query(sql)
        .bind(id_bytes(job))
        .bind(no)
        .bind(holder)
        .bind(WAITING)
        .bind(until_us)
        .bind(reason)
        .bind(i64::from(reason.is_none()))
        .execute(connection)
        .await?;
    Ok(())
}

/// A shard is graded; `results` are compressed. Does nothing if it was already.
pub(crate) async fn finish(
    connection: &mut Connection,
    (job, no): (BatchId, u32),
    outcome: &ShardOutcome,
    results: Option<&Compressed>,
    now_us: i64,
) -> Result<(), DatabaseError> {
    let mut values = Values::with_capacity(14);
    values
        .add(id_bytes(job))
        .add(i64::from(no))
        .add(DONE)
        .add_count(outcome.graded)
        .add_count(outcome.passed)
        .add_count(outcome.ungradable)
        .add_count(outcome.failed)
        .add_count(outcome.invalid)
        .add(outcome.problems.as_deref())
        .add(now_us)
        .add(outcome.summary.as_deref())
        .add(results.map(|results| results.codec.number()))
        .add(results.map(|results| i64::from(results.size)))
        .add(results.map(|results| results.content.as_slice()));
    let sql = "update job_shards set state = $3, graded = $4, passed = $5, ungradable = $6, \
               failed = $7, invalid = $8, problems = $9, done_us = $10, summary = $11, \
               codec = coalesce($12, codec), size = coalesce($13, size), content = $14, \
               reason = null where job = $1 and no = $2 and state <> $3";
    sql::query(sql)
        .with(values.finish())
        .execute(connection)
        .await?;
    Ok(())
}

/// A shard that is not graded is not tried again. Its lines are kept.
pub(crate) async fn set_aside(
    connection: &mut Connection,
    (job, no): (BatchId, u32),
    reason: &str,
    now_us: i64,
) -> Result<(), DatabaseError> {
    let sql = "update job_shards set state = $3, reason = $4, done_us = $5 \
               where job = $1 and no = $2 and state in (0, 1)";
    sql::query(sql)
        .bind(id_bytes(job))
        .bind(no)
        .bind(SET_ASIDE)
        .bind(reason)
        .bind(now_us)
        .execute(connection)
        .await?;
    Ok(())
}

/// Finishes a job if none of its shards waits or runs; returns whether it did.
pub(crate) async fn finish_job(
    connection: &mut Connection,
    job: BatchId,
    now_us: i64,
) -> Result<bool, DatabaseError> {
    let sql = "update jobs set finished_us = $2 where id = $1 and finished_us is null \
               and cancelled_us is null and received_us is not null \
               and not exists (select 1 from job_shards where job = $1 and state in (0, 1))";
    let done = sql::query(sql)
        .bind(id_bytes(job))
        .bind(now_us)
        .execute(connection)
        .await?;
    Ok(done > 0)
}

/// Cancels a job that is not finished, and deletes the lines that wait.
pub(crate) async fn cancel(
    connection: &mut Connection,
    job: BatchId,
    now_us: i64,
) -> Result<(), DatabaseError> {
    let sql = "update jobs set cancelled_us = $2 where id = $1 and finished_us is null \
               and cancelled_us is null";
    let done = sql::query(sql)
        .bind(id_bytes(job))
        .bind(now_us)
        .execute(connection)
        .await?;
    if done > 0 {
        let sql = "update job_shards set content = null where job = $1 and state = $2";
        sql::query(sql)
            .bind(id_bytes(job))
            .bind(WAITING)
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// Gives back the shards that an earlier process of this node graded.
pub(crate) async fn give_back(
    connection: &mut Connection,
    holder: &str,
) -> Result<(), DatabaseError> {
    sql::query("update job_shards set until_us = 0 where holder = $1 and state = $2")
        .bind(holder)
        .bind(RUNNING)
        .execute(connection)
        .await?;
    Ok(())
}

/// The jobs that ended before `before_us`, those whose requests were interrupted, and those that
/// `holder` was receiving, if given.
pub(crate) async fn outdated(
    connection: &mut Connection,
    holder: Option<&str>,
    before_us: i64,
    abandoned_us: i64,
) -> Result<Vec<BatchId>, DatabaseError> {
    let sql = "select id from jobs where finished_us < $1 or cancelled_us < $1 \
               or received_us is null and (submitted_us < $2 or holder = $3) order by id";
    let rows = sql::query(sql)
        .bind(before_us)
        .bind(abandoned_us)
        .bind(holder.unwrap_or_default())
        .fetch_all(connection)
        .await?;
    let read = |row: &Row| batch_id(row.try_get("id")?, JOBS);
    rows.iter().map(read).collect()
}
