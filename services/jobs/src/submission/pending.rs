//! A job whose shards are being stored. If it is dropped before it is complete, it is deleted.

use std::time::Duration;

use assay_core::{BatchId, ErrorCode, Hash};
use assay_record::job::{NewJob, NewShard};
use assay_record::{Record, RecordError};
use assay_wire::Problem;

use crate::{JobError, Jobs};

/// How often a write is tried while the database is locked, and the pause between two tries.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);

/// When a caller with too many jobs may try again.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// A job whose shards are being stored.
pub(crate) struct PendingJob {
    record: Record,
    /// `None` once it is complete.
    id: Option<BatchId>,
    /// Bytes that the caller may still send.
    bytes_left: u64,
}

impl Jobs {
    /// Adds a job, whose shards are stored next.
    ///
    /// # Errors
    /// [`JobError`]: the caller has too many jobs, or one with the same key, or the record cannot
    /// be written.
    pub(crate) async fn receive(
        &self,
        record: &Record,
        job: &NewJob,
    ) -> Result<PendingJob, JobError> {
        let (used, settings) = (record.job_use(&job.caller).await?, self.settings());
        if used.jobs >= settings.per_caller {
            return Err(JobError::QuotaExceeded {
                message: format!(
                    "the caller has {} jobs that are not finished, the most that \
                     `jobs.per_caller` allows; wait for one or cancel it",
                    used.jobs
                ),
                retry_after: RETRY_AFTER,
            });
        }
        if !persistently(|| record.begin_job(job)).await? {
            return Err(JobError::InProgress);
        }
        Ok(PendingJob {
            record: record.clone(),
            id: Some(job.id),
            bytes_left: settings.bytes_per_caller.saturating_sub(used.bytes),
        })
    }
}

impl PendingJob {
    /// Counts bytes of the job before they are stored.
    ///
    /// # Errors
    /// [`JobError::QuotaExceeded`].
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), JobError> {
        let left = self.bytes_left.checked_sub(bytes as u64);
        self.bytes_left = left.ok_or_else(|| JobError::QuotaExceeded {
            message: "the jobs of the caller that are not finished have more bytes than \
                      `jobs.bytes_per_caller` allows; wait for one, or divide the data set"
                .to_owned(),
            retry_after: RETRY_AFTER,
        })?;
        Ok(())
    }

    /// Stores a shard.
    pub(crate) async fn add(&self, shard: NewShard) -> Result<(), JobError> {
        let Some(id) = self.id else { return Ok(()) };
        persistently(|| self.record.add_job_shard(id, shard.clone())).await?;
        Ok(())
    }

    /// All shards are stored: the job is graded from now on.
    pub(crate) async fn complete(&mut self, request: Hash) -> Result<BatchId, JobError> {
        // Called once, so there is an id.
        let id = self.id.ok_or(JobError::InProgress)?;
        persistently(|| self.record.complete_job(id, request)).await?;
        self.id = None;
        Ok(id)
    }
}

impl Drop for PendingJob {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let record = self.record.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            if let Err(error) = record.delete_job(id).await {
                tracing::warn!(job = %id, %error, "cannot delete an interrupted job; it is deleted \
                    within a day");
            }
        });
    }
}

/// The error of a request with the idempotency key of another one.
pub(crate) fn different_request() -> JobError {
    let code = ErrorCode::IdempotencyMismatch;
    let message = "the idempotency key was used with other lines or parameters; use a new key for \
                   a new request";
    Problem::new(code, message).into()
}

/// Repeats a write while another connection has locked the database.
async fn persistently<T, F: Future<Output = Result<T, RecordError>>>(
    write: impl Fn() -> F,
) -> Result<T, RecordError> {
    let mut tries = 1;
    loop {
        match write().await {
            Err(RecordError::Unavailable(_)) if tries < TRIES => tokio::time::sleep(PAUSE).await,
            done => return done,
        }
        tries += 1;
    }
}
