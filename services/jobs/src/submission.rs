//! Receives a job: its lines are stored in shards as they arrive, and are graded once all are
//! stored. A request that is interrupted leaves nothing.

use std::time::Duration;

use assay_core::{BatchId, ErrorCode, Hash};
use assay_record::job::{NewJob, NewShard};
use assay_record::{Record, RecordError};
use assay_wire::Problem;

use crate::shards::ShardBuilder;
use crate::{JobError, Jobs};

/// A request for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// Name of the caller.
    pub caller: String,
    /// Whose share of a node the job uses.
    pub share: String,
    /// Name of the run, as recorded.
    pub run: Option<String>,
    /// Step of the run.
    pub step: Option<i64>,
    /// Name of the reward policy of items that have none of their own.
    pub policy: Option<String>,
    /// The idempotency key.
    pub key: Option<String>,
}

/// How often a write is tried while the database is locked, and the pause between two tries.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);

/// When a caller with too many jobs may try again.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// A job whose lines are being received. If it is dropped, the job is deleted.
pub struct Submission {
    jobs: Jobs,
    hasher: blake3::Hasher,
    received: Received,
}

enum Received {
    /// The lines are stored.
    New(Box<NewLines>),
    /// The request was sent before; its lines are only compared.
    Again(BatchId, Hash),
}

struct NewLines {
    builder: ShardBuilder,
    /// Bytes that the caller may still send.
    bytes_left: u64,
    job: Unfinished,
}

/// Deletes a job that was not received whole.
struct Unfinished {
    record: Record,
    /// `None` once it was received.
    id: Option<BatchId>,
}

impl Drop for Unfinished {
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

impl Jobs {
    /// Starts to receive a job.
    ///
    /// # Errors
    /// [`JobError`]: the policy is not known, the caller has too many jobs, or the record cannot be
    /// written.
    pub async fn submit(&self, request: JobRequest) -> Result<Submission, JobError> {
        let record = self.record()?.clone();
        if let Some(name) = &request.policy {
            let policy = self.engine().policies().named(name);
            policy.map_err(|error| Problem::new(error.code(), error.to_string()))?;
        }
        let hasher = hasher(&request);
        if let Some(key) = &request.key
            && let Some(known) = record.job_of_key(&request.caller, key).await?
        {
            let hash = known.request.ok_or(JobError::InProgress)?;
            return Ok(Submission {
                jobs: self.clone(),
                hasher,
                received: Received::Again(known.id, hash),
            });
        }
        let bytes_left = self.bytes_left(&record, &request.caller).await?;
        let job = new_job(self.engine().new_id(), request);
        let begun = persistently(|| record.begin_job(&job)).await?;
        if !begun {
            return Err(JobError::InProgress);
        }
        let new = NewLines {
            builder: ShardBuilder::new(self.settings().limits),
            bytes_left,
            job: Unfinished {
                record,
                id: Some(job.id),
            },
        };
        Ok(Submission {
            jobs: self.clone(),
            hasher,
            received: Received::New(Box::new(new)),
        })
    }

    /// Bytes that a caller may send with another job.
    async fn bytes_left(&self, record: &Record, caller: &str) -> Result<u64, JobError> {
        let (used, settings) = (record.job_use(caller).await?, self.settings());
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
        Ok(settings.bytes_per_caller.saturating_sub(used.bytes))
    }
}

/// What a repeated request must have in common, in addition to its lines.
fn hasher(request: &JobRequest) -> blake3::Hasher {
    let step = request.step.map(|step| step.to_string());
    let parts = [&request.run, &step, &request.policy]
        .map(|part| part.as_ref().map_or(&[][..], |part| part.as_bytes()));
    let mut hasher = blake3::Hasher::new();
    hasher.update(Hash::of_parts(&parts).as_bytes());
    hasher
}

fn new_job(id: BatchId, request: JobRequest) -> NewJob {
    let JobRequest {
        caller,
        share,
        run,
        step,
        policy,
        key,
    } = request;
    NewJob {
        id,
        caller,
        share,
        run,
        step,
        policy,
        key,
    }
}

impl Submission {
    /// Adds bytes of the request. Returns the bytes that it keeps in memory.
    ///
    /// # Errors
    /// [`JobError`]: the lines are invalid or too many, or the record cannot be written.
    pub async fn push(&mut self, bytes: &[u8]) -> Result<usize, JobError> {
        self.hasher.update(bytes);
        match &mut self.received {
            Received::Again(..) => Ok(0),
            Received::New(new) => {
                new.count(bytes.len())?;
                let mut shards = Vec::new();
                new.builder.push(bytes, &mut shards)?;
                new.job.add(shards).await?;
                Ok(new.builder.bytes())
            }
        }
    }

    /// The request is complete: the job is graded from now on. Returns its id.
    ///
    /// # Errors
    /// [`JobError`]: the lines are invalid, the request differs from an earlier one with the same
    /// key, or the record cannot be written.
    pub async fn finish(self) -> Result<BatchId, JobError> {
        let Self {
            jobs,
            hasher,
            received,
        } = self;
        let hash = Hash::of(hasher.finalize().as_bytes());
        let id = match received {
            Received::Again(id, earlier) if earlier == hash => id,
            Received::Again(..) => {
                let code = ErrorCode::IdempotencyMismatch;
                let message = "the idempotency key was used with other lines or parameters; use a \
                               new key for a new request";
                return Err(Problem::new(code, message).into());
            }
            Received::New(mut new) => {
                let mut shards = Vec::new();
                new.builder.finish(&mut shards)?;
                new.job.add(shards).await?;
                if new.builder.shards() == 0 {
                    let message = "the request has no lines; send one item per line";
                    let code = ErrorCode::EmptyBatch;
                    return Err(Problem::new(code, message).into());
                }
                new.job.complete(hash).await?
            }
        };
        jobs.wake();
        Ok(id)
    }
}

impl NewLines {
    fn count(&mut self, bytes: usize) -> Result<(), JobError> {
        let left = self.bytes_left.checked_sub(bytes as u64);
        self.bytes_left = left.ok_or_else(|| JobError::QuotaExceeded {
            message: "the jobs of the caller that are not finished have more bytes than \
                      `jobs.bytes_per_caller` allows; wait for one, or divide the data set"
                .to_owned(),
            retry_after: RETRY_AFTER,
        })?;
        Ok(())
    }
}

impl Unfinished {
    async fn add(&self, shards: Vec<NewShard>) -> Result<(), JobError> {
        let Some(id) = self.id else { return Ok(()) };
        for shard in shards {
            persistently(|| self.record.add_job_shard(id, shard.clone())).await?;
        }
        Ok(())
    }

    async fn complete(&mut self, request: Hash) -> Result<BatchId, JobError> {
        // The submission is consumed when it is complete, so there is an id.
        let id = self.id.ok_or(JobError::InProgress)?;
        persistently(|| self.record.complete_job(id, request)).await?;
        self.id = None;
        Ok(id)
    }
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
