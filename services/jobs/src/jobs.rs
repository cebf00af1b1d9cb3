//! The jobs of a node: what its runner and its requests share.

use std::sync::Arc;

use assay_core::BatchId;
use assay_engine::Engine;
use assay_record::job::{Job, JobKind, JobState, RecentShards};
use assay_record::{Record, RecordError};
use assay_wire::jobs::{JobBody, JobDetails, MAX_FAILING, RATE_WINDOW_US};
use assay_wire::replays::ReplaySummary;
use serde_json::{Map, Value};
use tokio::sync::{Notify, RwLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::owners::Unlimited;
use crate::parts::JobParts;
use crate::promoted_fields::PromotedFields;
use crate::replay_options::ReplayJobOptions;
use crate::turns::Turns;
use crate::{JobError, JobSettings, Results};

/// The jobs of a node. Cheap to clone: clones share their state.
#[derive(Clone)]
pub struct Jobs(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) parts: JobParts,
    /// Wakes the runner when a job was submitted.
    pub(crate) submitted: Notify,
    pub(crate) turns: Turns,
    /// A shard that failed before is graded while no other one is: if it ends the process, the
    /// others are not suspected.
    pub(crate) suspects: RwLock<()>,
    /// The fields that promoted shadows set in the tasks of their runs.
    pub(crate) promoted: PromotedFields,
    pub(crate) stopping: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Jobs {
    /// The jobs of a node. Nothing is graded before [`Jobs::start`].
    #[must_use]
    pub fn new(parts: JobParts) -> Self {
        Self(Arc::new(Shared {
            parts,
            submitted: Notify::new(),
            turns: Turns::default(),
            suspects: RwLock::new(()),
            promoted: PromotedFields::default(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// The jobs of an engine without templates, whose callers have no limits.
    #[must_use]
    pub fn without_limits(engine: Engine) -> Self {
        Self::new(JobParts {
            engine,
            templates: Arc::default(),
            owners: Arc::new(Unlimited),
            made_bytes: usize::MAX,
            settings: JobSettings::default(),
        })
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.parts.engine
    }

    pub(crate) fn settings(&self) -> &JobSettings {
        &self.0.parts.settings
    }

    /// The record, with the jobs of all callers.
    pub(crate) fn record(&self) -> Result<&Record, JobError> {
        self.engine().record().ok_or(JobError::NoRecord)
    }

    /// Lets the runner look for shards.
    pub(crate) fn wake(&self) {
        self.0.submitted.notify_waiters();
    }

    /// Returns at most `limit` of the jobs that a record shows, with an id below `before`, newest
    /// first, without their failing shards.
    ///
    /// # Errors
    /// [`JobError::Record`].
    pub async fn list(
        &self,
        record: &Record,
        before: Option<BatchId>,
        limit: u32,
    ) -> Result<Vec<JobBody>, JobError> {
        let now_us = self.engine().clock().unix_us();
        let (mut bodies, mut before) = (Vec::new(), before);
        while bodies.len() < limit as usize {
            let left = limit - u32::try_from(bodies.len()).unwrap_or(limit);
            let jobs = record.jobs(before, left).await?;
            let Some(last) = jobs.last() else { break };
            before = Some(last.id);
            for job in jobs.into_iter().filter(|job| is_shown(record, job)) {
                let details = JobDetails {
                    options: fields(&job),
                    recent: recent(record, &job, now_us).await?,
                    ..JobDetails::default()
                };
                bodies.push(JobBody::new(job, details, now_us));
            }
        }
        Ok(bodies)
    }

    /// Returns a job that a record shows, with its failing shards.
    ///
    /// # Errors
    /// [`JobError::NotFound`], [`JobError::Record`].
    pub async fn describe(&self, record: &Record, id: BatchId) -> Result<JobBody, JobError> {
        let job = find(record, id).await?;
        let now_us = self.engine().clock().unix_us();
        let replay = match job.kind() {
            Some(JobKind::Replay) => Some(summary(record, id).await?),
            _ => None,
        };
        let details = JobDetails {
            options: fields(&job),
            recent: recent(record, &job, now_us).await?,
            failing: record.failing_shards(id, MAX_FAILING).await?,
            replay,
        };
        Ok(JobBody::new(job, details, now_us))
    }

    /// Cancels a job that a record shows, unless it has ended. Shards that are being graded are
    /// finished.
    ///
    /// # Errors
    /// As [`Jobs::describe`].
    pub async fn cancel(&self, record: &Record, id: BatchId) -> Result<JobBody, JobError> {
        find(record, id).await?;
        record.cancel_job(id).await?;
        self.describe(record, id).await
    }

    /// The results of a job that a record shows, from shard `after` on.
    ///
    /// # Errors
    /// As [`Jobs::describe`].
    pub async fn results(
        &self,
        record: &Record,
        id: BatchId,
        after: u32,
        limit: Option<u32>,
    ) -> Result<Results, JobError> {
        let job = find(record, id).await?;
        let kind = job.kind().ok_or(JobError::UnknownKind(job.kind))?;
        Ok(Results::new(record.clone(), (id, kind), after, limit))
    }
}

/// The job with this id, if the record shows it.
async fn find(record: &Record, id: BatchId) -> Result<Job, JobError> {
    let job = record.job(id).await?.filter(|job| is_shown(record, job));
    job.ok_or(JobError::NotFound(id))
}

/// Whether a record shows a job of its caller. A caller who may not see the grades of others any
/// more may not see a replay of them either.
fn is_shown(record: &Record, job: &Job) -> bool {
    if job.kind() != Some(JobKind::Replay) || record.shows_all() {
        return true;
    }
    let options = ReplayJobOptions::read(job.options.as_deref());
    options.is_ok_and(|options| !options.of_all_callers)
}

/// The fields that a replay sets in tasks; `None` if there are none.
fn fields(job: &Job) -> Option<Map<String, Value>> {
    job.options.as_ref()?;
    let options = ReplayJobOptions::read(job.options.as_deref()).ok()?;
    let fields = options.fields.into_iter();
    let fields = fields.map(|(name, json)| Some((name, serde_json::from_str(json.get()).ok()?)));
    let fields: Option<Map<String, Value>> = fields.collect();
    fields.filter(|fields| !fields.is_empty())
}

/// The verdicts of a replay so far.
async fn summary(record: &Record, id: BatchId) -> Result<ReplaySummary, JobError> {
    let mut summary = ReplaySummary::default();
    for of_shard in record.shard_summaries(id).await? {
        let of_shard = serde_json::from_str(&of_shard)
            .map_err(|error| RecordError::Inconsistent(format!("job {id}: {error}")))?;
        summary.merge(&of_shard);
    }
    Ok(summary)
}

/// What was graded of a job in the last minute, if it is being graded.
async fn recent(record: &Record, job: &Job, now_us: i64) -> Result<RecentShards, JobError> {
    if job.state() != JobState::Running {
        return Ok(RecentShards::default());
    }
    let since_us = now_us.saturating_sub(RATE_WINDOW_US);
    Ok(record.recent_shards(job.id, since_us).await?)
}
