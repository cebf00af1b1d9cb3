//! Receives a job: its lines are stored in shards as they arrive, and are graded once all are
//! stored. A request that is interrupted leaves nothing.

use assay_core::{BatchId, ErrorCode, Hash};
use assay_record::job::{JobKind, NewJob};
use assay_wire::Problem;

use super::pending::{PendingJob, different_request};
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
    pending: PendingJob,
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
        let job = new_job(self.engine().new_id(), request);
        let new = NewLines {
            builder: ShardBuilder::new(self.settings().limits),
            pending: self.receive(&record, &job).await?,
        };
        Ok(Submission {
            jobs: self.clone(),
            hasher,
            received: Received::New(Box::new(new)),
        })
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
        kind: JobKind::Grade,
        caller,
        share,
        run,
        step,
        policy,
        key,
        options: None,
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
                new.pending.count(bytes.len())?;
                let mut shards = Vec::new();
                new.builder.push(bytes, &mut shards)?;
                for shard in shards {
                    new.pending.add(shard).await?;
                }
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
            Received::Again(..) => return Err(different_request()),
            Received::New(mut new) => {
                let mut shards = Vec::new();
                new.builder.finish(&mut shards)?;
                for shard in shards {
                    new.pending.add(shard).await?;
                }
                if new.builder.shards() == 0 {
                    let message = "the request has no lines; send one item per line";
                    let code = ErrorCode::EmptyBatch;
                    return Err(Problem::new(code, message).into());
                }
                new.pending.complete(hash).await?
            }
        };
        jobs.wake();
        Ok(id)
    }
}
