//! Grades the shards of open jobs in turn, and decides what becomes of one that fails.

use std::time::Duration;

use assay_core::BatchId;
use assay_record::job::{ClaimedShard, JobKind, OpenJob, ShardOutcome};
use assay_record::{Record, RecordError};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::metrics::{self, ShardResult};
use crate::shard_error::ShardError;
use crate::{JobError, Jobs, grading, replaying};

/// How long a node has a shard unless that is extended. Another node takes it over afterwards.
const LEASE: Duration = Duration::from_secs(30);

/// Time between two extensions.
const EXTENSION: Duration = Duration::from_secs(10);

/// Tries after which a shard is set aside.
const MAX_TRIES: u32 = 3;

/// Time before a shard that failed is tried again, for each try.
const PAUSE: Duration = Duration::from_secs(5);

/// Longest time before a shard is tried again that could not be graded yet.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Time between two looks for shards: other nodes receive jobs too.
const POLL: Duration = Duration::from_secs(1);

/// Time between two deletions of jobs that ended long ago.
const CLEANING: Duration = Duration::from_hours(1);

/// Why a shard is set aside whose node ended before it could say anything.
const ENDED: &str = "the node that graded it ended each time";

impl Jobs {
    /// Continues what an earlier process of this node left, and grades shards until
    /// [`Jobs::stop`]. Does nothing without a record.
    pub async fn start(&self) {
        metrics::start();
        let Ok(record) = self.record() else { return };
        if let Err(error) = record.recover_jobs().await {
            tracing::warn!(%error, "cannot continue the jobs that this node was grading at once; \
                they continue within a minute");
        }
        for _ in 0..self.settings().shards {
            let (jobs, record) = (self.clone(), record.clone());
            self.shared()
                .tasks
                .spawn(async move { jobs.run(&record).await });
        }
        let (jobs, cleaned) = (self.clone(), record.clone());
        self.shared()
            .tasks
            .spawn(async move { jobs.clean(&cleaned).await });
        let (jobs, followed) = (self.clone(), record.clone());
        self.shared()
            .tasks
            .spawn(async move { jobs.follow_shadows(&followed).await });
    }

    /// Claims no further shards.
    pub fn stop(&self) {
        self.shared().stopping.cancel();
    }

    /// Waits until the shards that were being graded when the node stopped are finished or given
    /// back.
    pub async fn ended(&self) {
        self.shared().tasks.close();
        self.shared().tasks.wait().await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.shared().stopping.is_cancelled() || !self.engine().admission().is_open()
    }

    /// Grades one shard after another.
    async fn run(&self, record: &Record) {
        let mut is_failing = false;
        while !self.is_stopping() {
            let submitted = self.shared().submitted.notified();
            match self.claim(record).await {
                Ok(Some((job, shard))) => {
                    is_failing = false;
                    self.work(record, &job, shard).await;
                    continue;
                }
                Ok(None) => is_failing = false,
                Err(error) => {
                    if !is_failing {
                        tracing::warn!(%error, "cannot look for shards of jobs; it is tried again");
                    }
                    is_failing = true;
                }
            }
            tokio::select! {
                () = submitted => {}
                () = sleep(POLL) => {}
                () = self.shared().stopping.cancelled() => {}
            }
        }
    }

    /// Deletes the jobs that ended long ago.
    async fn clean(&self, record: &Record) {
        let kept = self.settings().kept;
        while !self.is_stopping() {
            if let Err(error) = record.delete_outdated_jobs(kept).await {
                tracing::warn!(%error, "cannot delete jobs that ended long ago");
            }
            tokio::select! {
                () = sleep(CLEANING) => {}
                () = self.shared().stopping.cancelled() => {}
            }
        }
    }

    /// Claims a shard of the job whose turn it is.
    async fn claim(&self, record: &Record) -> Result<Option<(OpenJob, ClaimedShard)>, JobError> {
        let now_us = self.engine().clock().unix_us();
        let turns = &self.shared().turns;
        let open = record.open_jobs().await?;
        metrics::open(open.len());
        for job in turns.order(open, now_us) {
            let batch = self.engine().new_id();
            if let Some(shard) = record.claim_job_shard(job.id, batch, LEASE).await? {
                turns.claimed(job.id);
                return Ok(Some((job, shard)));
            }
            record.finish_job(job.id).await?;
        }
        Ok(None)
    }

    /// Grades a claimed shard, and stores what became of it.
    async fn work(&self, record: &Record, job: &OpenJob, shard: ClaimedShard) {
        let (no, tries) = (shard.no, shard.tries);
        if tries > MAX_TRIES {
            let reason = shard.reason.as_deref().unwrap_or(ENDED);
            self.set_aside(record, job, no, reason).await;
            return;
        }
        let span = tracing::info_span!("shard", job = %job.id, shard = no, items = shard.items);
        let _lease = keep(record, job.id, no);
        let suspects = &self.shared().suspects;
        let graded = if tries > 1 {
            let _alone = suspects.write().await;
            self.grade(record, job, shard).instrument(span).await
        } else {
            let _beside_others = suspects.read().await;
            self.grade(record, job, shard).instrument(span).await
        };
        match graded {
            Ok(outcome) => self.finish(record, job, no, &outcome).await,
            Err(ShardError::Stopping) => {
                self.give_back(record, job, no, Duration::ZERO, None).await;
            }
            Err(ShardError::Later(pause)) => {
                metrics::tried(job.kind, ShardResult::Postponed);
                let pause = pause.min(MAX_PAUSE);
                let now_us = self.engine().clock().unix_us();
                let pause_us = i64::try_from(pause.as_micros()).unwrap_or(i64::MAX);
                let until_us = now_us.saturating_add(pause_us);
                self.shared().turns.pause(&job.caller, until_us);
                self.give_back(record, job, no, Duration::ZERO, None).await;
            }
            Err(ShardError::Failed(reason)) if tries < MAX_TRIES => {
                metrics::tried(job.kind, ShardResult::Failed);
                let pause = PAUSE * tries;
                self.give_back(record, job, no, pause, Some(&reason)).await;
            }
            Err(ShardError::Failed(reason) | ShardError::Refused(reason)) => {
                self.set_aside(record, job, no, &reason).await;
            }
        }
    }

    async fn grade(
        &self,
        record: &Record,
        job: &OpenJob,
        shard: ClaimedShard,
    ) -> Result<ShardOutcome, ShardError> {
        let keeps_failures = shard.tries >= MAX_TRIES;
        let parts = &self.shared().parts;
        match job.kind {
            JobKind::Grade => {
                let parts = (parts, &self.shared().promoted);
                grading::grade(parts, record, job, shard, keeps_failures).await
            }
            JobKind::Replay => replaying::replay(parts, job, &shard, keeps_failures).await,
        }
    }

    async fn finish(&self, record: &Record, job: &OpenJob, no: u32, outcome: &ShardOutcome) {
        metrics::tried(job.kind, ShardResult::Done);
        metrics::lines(job.kind, outcome);
        let finished = self.persistently(|| record.finish_job_shard(job.id, no, outcome));
        // Otherwise it is claimed again, and its recorded reply is found.
        report(job.id, no, finished.await);
    }

    async fn set_aside(&self, record: &Record, job: &OpenJob, no: u32, reason: &str) {
        metrics::tried(job.kind, ShardResult::SetAside);
        tracing::warn!(job = %job.id, shard = no, reason, "a shard of a job is set aside");
        let set = self.persistently(|| record.set_job_shard_aside(job.id, no, reason));
        report(job.id, no, set.await);
    }

    async fn give_back(
        &self,
        record: &Record,
        job: &OpenJob,
        no: u32,
        pause: Duration,
        reason: Option<&str>,
    ) {
        let released = || record.release_job_shard(job.id, no, pause, reason);
        // Otherwise it is claimed again when its lease has ended.
        report(job.id, no, self.persistently(released).await);
    }

    /// Repeats a write until it succeeds, or until the lease of the shard has ended or the node
    /// stops.
    async fn persistently<F: Future<Output = Result<(), RecordError>>>(
        &self,
        write: impl Fn() -> F,
    ) -> Result<(), RecordError> {
        let mut tries = 1;
        loop {
            match write().await {
                Err(RecordError::Unavailable(_))
                    if tries < LEASE.as_secs() && !self.is_stopping() =>
                {
                    sleep(POLL).await;
                }
                done => return done,
            }
            tries += 1;
        }
    }
}

fn report(job: BatchId, shard: u32, written: Result<(), RecordError>) {
    if let Err(error) = written {
        tracing::warn!(%job, shard, %error, "cannot store what became of a shard; it is tried again");
    }
}

/// Extends the lease of a shard until the result is dropped.
fn keep(record: &Record, job: BatchId, no: u32) -> AbortOnDropHandle<()> {
    let record = record.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            sleep(EXTENSION).await;
            if let Err(error) = record.extend_job_shard(job, no, LEASE).await {
                tracing::warn!(%job, shard = no, %error, "cannot extend the lease of a shard");
            }
        }
    }))
}
