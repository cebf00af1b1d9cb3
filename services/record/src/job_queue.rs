//! Writes of jobs. They go to the database directly, as those of keys do, and not through the
//! spool: a node that claims a shard must know at once that no other node has it.

use std::time::Duration;

use assay_core::{BatchId, Hash};

use crate::database::sql::Connection;
use crate::database::{DatabaseError, jobs};
use crate::job::{ClaimedShard, KeyedJob, NewJob, NewShard, OpenJob, ShardOutcome};
use crate::pending::packs::{self, Compressed};
use crate::record::blocking;
use crate::{Record, RecordError};

/// How long after its request began a job is deleted that was never received whole. A request takes
/// minutes.
const ABANDONED: Duration = Duration::from_hours(24);

impl Record {
    /// Adds a job, whose shards are added next; `false` if its caller has another one with the same
    /// key.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn begin_job(&self, job: &NewJob) -> Result<bool, RecordError> {
        let (now_us, holder) = (self.now_us(), self.shared.database.spool());
        let mut connection = self.job_connection().await?;
        Ok(jobs::begin(&mut connection, job, holder, now_us).await?)
    }

    /// The job of a caller whose request had this idempotency key.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be read.
    pub async fn job_of_key(
        &self,
        caller: &str,
        key: &str,
    ) -> Result<Option<KeyedJob>, RecordError> {
        let mut connection = self.job_connection().await?;
        Ok(jobs::of_key(&mut connection, caller, key).await?)
    }

    /// Adds a shard to a job.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn add_job_shard(&self, job: BatchId, shard: NewShard) -> Result<(), RecordError> {
        let (shard, lines) = self.compress(shard, |shard| &shard.content).await?;
        let mut connection = self.job_connection().await?;
        Ok(jobs::add_shard(&mut connection, job, &shard, &lines).await?)
    }

    /// All shards of a job are added; nodes grade it from now on. `request` is the hash of its
    /// request.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn complete_job(&self, job: BatchId, request: Hash) -> Result<(), RecordError> {
        let now_us = self.now_us();
        let mut connection = self.job_connection().await?;
        Ok(jobs::complete(&mut connection, job, request, now_us).await?)
    }

    /// Deletes a job. The grades of its shards are kept.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn delete_job(&self, job: BatchId) -> Result<(), RecordError> {
        let mut connection = self.job_connection().await?;
        Ok(jobs::delete(&mut connection, job).await?)
    }

    /// The jobs of all callers with shards to grade, oldest first.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be read.
    pub async fn open_jobs(&self) -> Result<Vec<OpenJob>, RecordError> {
        let mut connection = self.job_connection().await?;
        Ok(jobs::open(&mut connection).await?)
    }

    /// Claims the first shard of a job that is free, for `lease`; `None` if none is. `batch` is the
    /// id of its batch, unless an earlier try chose one.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn claim_job_shard(
        &self,
        job: BatchId,
        batch: BatchId,
        lease: Duration,
    ) -> Result<Option<ClaimedShard>, RecordError> {
        let holder = self.shared.database.spool();
        let mut connection = self.job_connection().await?;
        let mut from = 0;
        loop {
            let now_us = self.now_us();
            let Some(no) = jobs::next_free(&mut connection, job, from, now_us).await? else {
                return Ok(None);
            };
            let times = (now_us, later(now_us, lease));
            let claimed = jobs::claim(&mut connection, (job, no), holder, batch, times).await?;
            if claimed.is_some() {
                return Ok(claimed);
            }
            // Another node was faster.
            from = no + 1;
        }
    }

    /// Extends the lease of a shard that this node has.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn extend_job_shard(
        &self,
        job: BatchId,
        no: u32,
        lease: Duration,
    ) -> Result<(), RecordError> {
        let (until_us, holder) = (later(self.now_us(), lease), self.shared.database.spool());
        let mut connection = self.job_connection().await?;
        Ok(jobs::extend(&mut connection, (job, no), holder, until_us).await?)
    }

    /// Gives a shard back, which may be tried again after `pause`. The try counts only with a
    /// `reason` why it failed.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn release_job_shard(
        &self,
        job: BatchId,
        no: u32,
        pause: Duration,
        reason: Option<&str>,
    ) -> Result<(), RecordError> {
        let (until_us, holder) = (later(self.now_us(), pause), self.shared.database.spool());
        let mut connection = self.job_connection().await?;
        Ok(jobs::release(&mut connection, (job, no), holder, until_us, reason).await?)
    }

    /// A shard is graded, and its grades are in the database. Finishes its job if it was the last.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn finish_job_shard(
        &self,
        job: BatchId,
        no: u32,
        outcome: &ShardOutcome,
    ) -> Result<(), RecordError> {
        let results = match outcome.results.clone() {
            Some(results) => Some(self.compress(results, |results| results).await?.1),
            None => None,
        };
        let now_us = self.now_us();
        let mut connection = self.job_connection().await?;
        jobs::finish(
            &mut connection,
            (job, no),
            outcome,
            results.as_ref(),
            now_us,
        )
        .await?;
        jobs::finish_job(&mut connection, job, now_us).await?;
        Ok(())
    }

    /// A shard failed too often and is not tried again. Finishes its job if it was the last.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn set_job_shard_aside(
        &self,
        job: BatchId,
        no: u32,
        reason: &str,
    ) -> Result<(), RecordError> {
        let now_us = self.now_us();
        let mut connection = self.job_connection().await?;
        jobs::set_aside(&mut connection, (job, no), reason, now_us).await?;
        jobs::finish_job(&mut connection, job, now_us).await?;
        Ok(())
    }

    /// Finishes a job whose shards are all finished, if a node ended before it could.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn finish_job(&self, job: BatchId) -> Result<bool, RecordError> {
        let now_us = self.now_us();
        let mut connection = self.job_connection().await?;
        Ok(jobs::finish_job(&mut connection, job, now_us).await?)
    }

    /// Cancels a job that is not finished. Its running shards are finished.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn cancel_job(&self, job: BatchId) -> Result<(), RecordError> {
        let now_us = self.now_us();
        let mut connection = self.job_connection().await?;
        Ok(jobs::cancel(&mut connection, job, now_us).await?)
    }

    /// Gives back what an earlier process of this node was grading, and deletes the jobs that it
    /// was receiving. Called before the node serves.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn recover_jobs(&self) -> Result<(), RecordError> {
        let holder = self.shared.database.spool();
        let mut connection = self.job_connection().await?;
        jobs::give_back(&mut connection, holder).await?;
        let never = i64::MIN;
        for job in jobs::outdated(&mut connection, Some(holder), never, never).await? {
            jobs::delete(&mut connection, job).await?;
        }
        Ok(())
    }

    /// Deletes the jobs that ended longer than `kept` ago, and those whose requests were
    /// interrupted long ago. The grades of their shards are kept.
    ///
    /// # Errors
    /// [`RecordError`] if the database cannot be written.
    pub async fn delete_outdated_jobs(&self, kept: Duration) -> Result<(), RecordError> {
        let now_us = self.now_us();
        let (before_us, abandoned_us) = (earlier(now_us, kept), earlier(now_us, ABANDONED));
        let mut connection = self.job_connection().await?;
        for job in jobs::outdated(&mut connection, None, before_us, abandoned_us).await? {
            jobs::delete(&mut connection, job).await?;
        }
        Ok(())
    }

    /// Compresses bytes of `of` on a thread for blocking work.
    async fn compress<T: Send + 'static>(
        &self,
        of: T,
        bytes: fn(&T) -> &[u8],
    ) -> Result<(T, Compressed), RecordError> {
        let level = self.shared.compression;
        let (of, compressed) = blocking(move || {
            let compressed = packs::compress(bytes(&of), level);
            (of, compressed)
        })
        .await;
        let compressed = compressed.map_err(|error| RecordError::Unavailable(error.to_string()));
        Ok((of, compressed?))
    }

    pub(crate) fn now_us(&self) -> i64 {
        self.shared.clock.unix_us()
    }

    pub(crate) async fn job_connection(&self) -> Result<Connection, DatabaseError> {
        self.shared.database.job_connection().await
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn later(now_us: i64, by: Duration) -> i64 {
    now_us.saturating_add(micros(by))
}

fn earlier(now_us: i64, by: Duration) -> i64 {
    now_us.saturating_sub(micros(by))
}
