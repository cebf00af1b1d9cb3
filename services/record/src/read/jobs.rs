//! Reads of jobs and of their shards.

use assay_core::BatchId;

use crate::database::DatabaseError;
use crate::database::jobs::lines;
use crate::database::rows::{batch_id, count, id_bytes};
use crate::database::sql::{self, Connection, Row};
use crate::job::{FailingShard, Job, JobCounts, JobUse, RecentShards, ResultShard, ShardState};
use crate::{Record, RecordError};

const JOBS: &str = "jobs";
const SHARDS: &str = "job_shards";

const SELECT_JOBS: &str = "select id, kind, caller, run, step, policy, options, submitted_us, \
     cancelled_us, finished_us from jobs where received_us is not null and id < $1 \
     and caller = coalesce($2, caller) order by id desc limit $3";

const SELECT_COUNTS: &str = "select state, count(*) as shards, \
     cast(sum(items) as bigint) as items, cast(sum(graded) as bigint) as graded, \
     cast(sum(passed) as bigint) as passed, cast(sum(ungradable) as bigint) as ungradable, \
     cast(sum(failed) as bigint) as failed, cast(sum(invalid) as bigint) as invalid, \
     min(claimed_us) as started_us from job_shards where job = $1 group by state";

const SELECT_RECENT: &str = "select cast(coalesce(sum(items), 0) as bigint) as items, \
     min(claimed_us) as since_us from job_shards where job = $1 and done_us >= $2";

const SELECT_FAILING: &str = "select no, state, first_line, items, tries, reason \
     from job_shards where job = $1 and reason is not null order by no limit $2";

const SELECT_SUMMARIES: &str =
    "select summary from job_shards where job = $1 and summary is not null order by no";

const SELECT_RESULTS: &str = "select no, state, first_line, items, batch, problems, reason, \
     codec, size, case when state in (2, 3) then content end as content \
     from job_shards where job = $1 and no >= $2 order by no limit $3";

const SELECT_USE: &str = "select count(distinct j.id) as jobs, \
     cast(coalesce(sum(s.size), 0) as bigint) as bytes from jobs j \
     left join job_shards s on s.job = j.id and s.state in (0, 1) \
     where j.caller = $1 and j.finished_us is null and j.cancelled_us is null";

impl Record {
    /// Returns at most `limit` jobs with an id below `before`, newest first.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn jobs(&self, before: Option<BatchId>, limit: u32) -> Result<Vec<Job>, RecordError> {
        let before = before.unwrap_or_else(|| u128::MAX.into());
        self.read(async {
            let mut snapshot = self.shared.database.snapshot().await?;
            let jobs = list(&mut snapshot, before, self.scope.caller(), limit).await?;
            Ok(jobs
                .into_iter()
                .map(|job| self.scope.own_job(job))
                .collect())
        })
        .await
    }

    /// Returns one job.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn job(&self, id: BatchId) -> Result<Option<Job>, RecordError> {
        let after = u128::from(id).checked_add(1).map(BatchId::from);
        let newest = self.jobs(after, 1).await?;
        Ok(newest.into_iter().find(|job| job.id == id))
    }

    /// What was graded of a job since `since_us`.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn recent_shards(
        &self,
        job: BatchId,
        since_us: i64,
    ) -> Result<RecentShards, RecordError> {
        self.read(async {
            let mut snapshot = self.shared.database.snapshot().await?;
            Ok(recent(&mut snapshot, job, since_us).await?)
        })
        .await
    }

    /// Returns at most `limit` shards of a job whose last try failed, in order.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn failing_shards(
        &self,
        job: BatchId,
        limit: u32,
    ) -> Result<Vec<FailingShard>, RecordError> {
        self.read(async {
            let mut snapshot = self.shared.database.snapshot().await?;
            Ok(failing(&mut snapshot, job, limit).await?)
        })
        .await
    }

    /// Returns at most `limit` shards of a job from number `from` on.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn result_shards(
        &self,
        job: BatchId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<ResultShard>, RecordError> {
        self.read(async {
            let mut snapshot = self.shared.database.snapshot().await?;
            Ok(results(&mut snapshot, job, from, limit).await?)
        })
        .await
    }

    /// What the lines of each finished shard of a job have in common, as JSON objects.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn shard_summaries(&self, job: BatchId) -> Result<Vec<String>, RecordError> {
        self.read(async {
            let mut snapshot = self.shared.database.snapshot().await?;
            let summaries = sql::query_scalar(SELECT_SUMMARIES).bind(id_bytes(job));
            let summaries = summaries.fetch_all(&mut snapshot).await;
            Ok(summaries.map_err(DatabaseError::from)?)
        })
        .await
    }

    /// The open jobs of a caller.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn job_use(&self, caller: &str) -> Result<JobUse, RecordError> {
        self.read(async {
            let mut snapshot = self.shared.database.snapshot().await?;
            let row = sql::query(SELECT_USE).bind(caller).fetch_one(&mut snapshot);
            let row = row.await.map_err(DatabaseError::from)?;
            let number = |column| -> Result<u64, DatabaseError> { Ok(count(row.try_get(column)?)) };
            Ok(JobUse {
                jobs: number("jobs")?,
                bytes: number("bytes")?,
            })
        })
        .await
    }
}

async fn list(
    connection: &mut Connection,
    before: BatchId,
    caller: Option<&str>,
    limit: u32,
) -> Result<Vec<Job>, DatabaseError> {
    let rows = sql::query(SELECT_JOBS)
        .bind(id_bytes(before))
        .bind(caller)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = batch_id(row.try_get("id")?, JOBS)?;
        jobs.push(Job {
            id,
            kind: row.try_get("kind")?,
            caller: row.try_get("caller")?,
            run: row.try_get("run")?,
            step: row.try_get("step")?,
            policy: row.try_get("policy")?,
            options: row.try_get("options")?,
            submitted_us: row.try_get("submitted_us")?,
            cancelled_us: row.try_get("cancelled_us")?,
            finished_us: row.try_get("finished_us")?,
            counts: counts(connection, id).await?,
        });
    }
    Ok(jobs)
}

async fn counts(connection: &mut Connection, job: BatchId) -> Result<JobCounts, DatabaseError> {
    let rows = sql::query(SELECT_COUNTS)
        .bind(id_bytes(job))
        .fetch_all(connection)
        .await?;
    let mut counts = JobCounts::default();
    for row in &rows {
        let number = |column| -> Result<u64, DatabaseError> { Ok(count(row.try_get(column)?)) };
        let (shards, items) = (number("shards")?, number("items")?);
        match state(row)? {
            ShardState::Waiting => counts.waiting = shards,
            ShardState::Running => counts.running = shards,
            ShardState::Done => counts.done = shards,
            ShardState::SetAside => {
                counts.set_aside = shards;
                counts.items_set_aside = items;
            }
        }
        counts.items += items;
        counts.graded += number("graded")?;
        counts.passed += number("passed")?;
        counts.ungradable += number("ungradable")?;
        counts.failed += number("failed")?;
        counts.invalid += number("invalid")?;
        let started: Option<i64> = row.try_get("started_us")?;
        counts.started_us = match (counts.started_us, started) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    Ok(counts)
}

fn state(row: &Row) -> Result<ShardState, DatabaseError> {
    let number = row.try_get("state")?;
    ShardState::from_number(number).ok_or_else(|| DatabaseError::Row {
        table: SHARDS,
        column: "state",
        reason: format!("unknown state `{number}`; use the release that wrote it, or a later one"),
    })
}

async fn recent(
    connection: &mut Connection,
    job: BatchId,
    since_us: i64,
) -> Result<RecentShards, DatabaseError> {
    let row = sql::query(SELECT_RECENT)
        .bind(id_bytes(job))
        .bind(since_us)
        .fetch_one(connection)
        .await?;
    Ok(RecentShards {
        items: count(row.try_get("items")?),
        since_us: row.try_get("since_us")?,
    })
}

async fn failing(
    connection: &mut Connection,
    job: BatchId,
    limit: u32,
) -> Result<Vec<FailingShard>, DatabaseError> {
    let rows = sql::query(SELECT_FAILING)
        .bind(id_bytes(job))
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let read = |row: &Row| -> Result<FailingShard, DatabaseError> {
        Ok(FailingShard {
            no: row.try_get("no")?,
            set_aside: state(row)? == ShardState::SetAside,
            first_line: count(row.try_get("first_line")?),
            items: row.try_get("items")?,
            tries: row.try_get("tries")?,
            reason: row.try_get("reason")?,
        })
    };
    rows.iter().map(read).collect()
}

async fn results(
    connection: &mut Connection,
    job: BatchId,
    from: u32,
    limit: u32,
) -> Result<Vec<ResultShard>, DatabaseError> {
    let rows = sql::query(SELECT_RESULTS)
        .bind(id_bytes(job))
        .bind(from)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let read = |row: &Row| -> Result<ResultShard, DatabaseError> {
        let batch: Option<&[u8]> = row.try_get("batch")?;
        Ok(ResultShard {
            no: row.try_get("no")?,
            state: state(row)?,
            first_line: count(row.try_get("first_line")?),
            items: row.try_get("items")?,
            batch: batch.map(|id| batch_id(id, SHARDS)).transpose()?,
            problems: row.try_get("problems")?,
            reason: row.try_get("reason")?,
            content: lines(row)?,
        })
    };
    rows.iter().map(read).collect()
}
