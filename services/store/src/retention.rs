//! Deletes what prunes and the limits of the record name, in the background: one prune at a time,
//! in short transactions with pauses between them, so that the writer applies new entries and the
//! disk syncs the spool in between. Replies do not wait for the database, and readers do not wait
//! for its writer.
//!
//! A prune that ends early, because of an error or a shutdown, leaves the record consistent: a
//! batch whose grades were being deleted is marked and finished by the next prune, at the latest by
//! the check of the limits at the next start.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_core::{BatchId, Clock};
use assay_record::retention::{
    PruneFilter, PruneProgress, PruneState, RetentionLimits, StorageReport,
};
use assay_record::store::StoreError;
use tokio::sync::{mpsc, watch};

use crate::database::{Database, DatabaseError};
use crate::metrics;
use crate::pending::Pending;
use crate::retention_step::{PruneTarget, RetentionStep, StepOutcome};

/// Number of batches that are looked up at once.
const BATCHES: u32 = 64;

/// Number of batches that are deleted before the size is checked again.
const BATCHES_PER_CHECK: u64 = 4;

/// Pause after each step, as a multiple of its duration: deletion takes a third of the time.
const PAUSE_FACTOR: u32 = 2;

/// Shortest and longest pause after a step.
const MIN_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// With more pending entries than this, deletion waits for the writer, at most [`MAX_YIELD`] after
/// each step: some progress is made under any load.
const MAX_PENDING: usize = 32;
const MAX_YIELD: Duration = Duration::from_secs(1);

/// The record is reduced to this share of its limit on size, so that it is not checked again for
/// every batch.
const TARGET_SHARE: f64 = 0.95;

/// Most prunes that wait.
const QUEUE: usize = 1;

/// The progress that readers see.
#[derive(Debug, Default)]
struct Shared {
    /// The prune that was started last.
    prune: Option<PruneProgress>,
    started: u64,
    /// Number of the prune that the task works on; an earlier one than `prune` while that waits.
    current: Option<u64>,
    next_check_us: Option<i64>,
}

impl Shared {
    /// The prune that the task works on, if it is the one that readers see.
    fn current(&mut self) -> Option<&mut PruneProgress> {
        let current = self.current;
        self.prune
            .as_mut()
            .filter(|prune| current == Some(prune.number))
    }
}

/// A prune that was requested.
#[derive(Debug)]
struct Request {
    number: u64,
    filter: PruneFilter,
}

/// Starts prunes and reports their progress.
#[derive(Debug)]
pub(crate) struct RetentionHandle {
    prunes: mpsc::Sender<Request>,
    shared: Arc<Mutex<Shared>>,
    limits: RetentionLimits,
}

impl RetentionHandle {
    /// Starts a prune. Fails if one is running.
    pub(crate) fn start(
        &self,
        filter: PruneFilter,
        now_us: i64,
    ) -> Result<PruneProgress, StoreError> {
        let busy = || {
            StoreError::Unavailable(
                "another prune is running; `GET /v1/storage` shows its progress".to_owned(),
            )
        };
        let mut shared = lock(&self.shared);
        if shared
            .prune
            .as_ref()
            .is_some_and(|prune| prune.state == PruneState::Running && !prune.automatic)
        {
            return Err(busy());
        }
        let permit = self.prunes.try_reserve().map_err(|_| busy())?;
        let progress = begin(&mut shared, filter, false, now_us);
        permit.send(Request {
            number: progress.number,
            filter: progress.filter.clone(),
        });
        Ok(progress)
    }

    /// Completes a report.
    pub(crate) fn complete(&self, report: StorageReport) -> StorageReport {
        let shared = lock(&self.shared);
        StorageReport {
            limits: self.limits.clone(),
            next_check_us: shared.next_check_us,
            prune: shared.prune.clone(),
            ..report
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin(shared: &mut Shared, filter: PruneFilter, automatic: bool, now_us: i64) -> PruneProgress {
    shared.started += 1;
    let progress = PruneProgress {
        number: shared.started,
        filter,
        automatic,
        state: PruneState::Running,
        phase: "waiting".to_owned(),
        started_us: now_us,
        ended_us: None,
        batches: 0,
        grades: 0,
        body_bytes: 0,
        runs: 0,
        error: None,
    };
    shared.prune = Some(progress.clone());
    progress
}

/// Waits until the store is closing.
async fn closing(mut draining: watch::Receiver<bool>) {
    // An error means that the store is gone.
    let _ = draining.wait_for(|draining| *draining).await;
}

/// Why a prune ended early.
enum Interruption {
    /// The store is closing.
    Draining,
    Failed(DatabaseError),
}

impl From<DatabaseError> for Interruption {
    fn from(error: DatabaseError) -> Self {
        Self::Failed(error)
    }
}

/// The task that deletes.
pub(crate) struct Retention {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) pending: Arc<Pending>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: RetentionLimits,
    /// Time between two checks of the limits.
    pub(crate) interval: Duration,
    /// Becomes true when the store is closing.
    pub(crate) draining: watch::Receiver<bool>,
    prunes: mpsc::Receiver<Request>,
    shared: Arc<Mutex<Shared>>,
}

/// What a retention task needs.
pub(crate) struct RetentionParts {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) pending: Arc<Pending>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: RetentionLimits,
    pub(crate) interval: Duration,
    pub(crate) draining: watch::Receiver<bool>,
}

impl Retention {
    pub(crate) fn new(parts: RetentionParts) -> (Self, RetentionHandle) {
        let RetentionParts {
            database,
            pending,
            clock,
            limits,
            interval,
            draining,
        } = parts;
        let (sender, prunes) = mpsc::channel(QUEUE);
        let shared = Arc::<Mutex<Shared>>::default();
        let handle = RetentionHandle {
            prunes: sender,
            shared: Arc::clone(&shared),
            limits: limits.clone(),
        };
        let retention = Self {
            database,
            pending,
            clock,
            limits,
            interval,
            draining,
            prunes,
            shared,
        };
        (retention, handle)
    }

    /// Deletes until the store is closed.
    pub(crate) async fn run(mut self) {
        // What an earlier process left unfinished.
        if let Err(Interruption::Failed(error)) = self.finish_interrupted().await {
            tracing::warn!(%error, "cannot finish an interrupted prune; the next prune does");
        }
        loop {
            let wait = (!self.limits.is_none()).then_some(self.interval);
            lock(&self.shared).next_check_us = wait.map(|wait| {
                let wait = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
                self.clock.unix_us().saturating_add(wait)
            });
            let check = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            let closing = closing(self.draining.clone());
            tokio::select! {
                request = self.prunes.recv() => match request {
                    Some(Request { number, filter }) => {
                        lock(&self.shared).current = Some(number);
                        let pruned = self.prune(&filter).await;
                        self.finish(pruned);
                    }
                    None => return,
                },
                () = check => {
                    let checked = self.enforce_limits().await;
                    self.finish(checked);
                }
                () = closing => return,
            }
            if *self.draining.borrow() {
                return;
            }
        }
    }

    /// Stores how a prune ended.
    fn finish(&self, ended: Result<(), Interruption>) {
        let (state, error) = match ended {
            Ok(()) => (PruneState::Done, None),
            Err(Interruption::Draining) => (PruneState::Stopped, None),
            Err(Interruption::Failed(error)) => {
                tracing::warn!(%error, "cannot delete from the record; the next prune continues");
                (PruneState::Failed, Some(error.to_string()))
            }
        };
        let now_us = self.clock.unix_us();
        let mut shared = lock(&self.shared);
        if let Some(prune) = shared.current() {
            prune.state = state;
            prune.error = error;
            prune.ended_us = Some(now_us);
            if state == PruneState::Done {
                tracing::info!(
                    batches = prune.batches,
                    grades = prune.grades,
                    runs = prune.runs,
                    body_bytes = prune.body_bytes,
                    "pruned the record"
                );
            }
        }
        shared.current = None;
    }

    fn enter(&self, phase: &str) {
        if let Some(prune) = lock(&self.shared).current() {
            phase.clone_into(&mut prune.phase);
        }
    }

    /// Does a step and pauses after it. Returns its outcome.
    async fn step(&self, step: RetentionStep) -> Result<StepOutcome, Interruption> {
        if *self.draining.borrow() {
            return Err(Interruption::Draining);
        }
        let started = self.clock.monotonic();
        let outcome = self.database.retain(step).await?;
        let took = self.clock.monotonic().saturating_sub(started);
        metrics::pruned(took, outcome.grades);
        if let Some(prune) = lock(&self.shared).current() {
            prune.batches += outcome.batches;
            prune.grades += outcome.grades;
            prune.body_bytes += outcome.body_bytes;
            prune.runs += outcome.runs;
        }
        let pause = (took * PAUSE_FACTOR).clamp(MIN_PAUSE, MAX_PAUSE);
        let pausing = async {
            tokio::time::sleep(pause).await;
            let mut waited = Duration::ZERO;
            while self.pending.len() > MAX_PENDING && waited < MAX_YIELD {
                tokio::time::sleep(pause).await;
                waited += pause;
            }
        };
        tokio::select! {
            () = pausing => {}
            () = closing(self.draining.clone()) => {}
        }
        Ok(outcome)
    }

    /// Repeats a step until nothing is left for it.
    async fn repeat(&self, step: RetentionStep) -> Result<(), Interruption> {
        while !self.step(step).await?.done {}
        Ok(())
    }

    async fn finish_interrupted(&self) -> Result<(), Interruption> {
        loop {
            let left = self.database.snapshot().await?.interrupted().await?;
            for batch in &left.batches {
                self.repeat(RetentionStep::Grades(*batch)).await?;
            }
            if left.batches.is_empty() {
                if left.runs {
                    self.repeat(RetentionStep::Runs).await?;
                }
                if left.sweep {
                    self.repeat(RetentionStep::Sweep).await?;
                }
                return Ok(());
            }
        }
    }

    async fn prune(&self, filter: &PruneFilter) -> Result<(), Interruption> {
        self.enter("counting");
        self.finish_interrupted().await?;
        self.repeat(RetentionStep::Count).await?;
        let target = self.target(filter).await?;
        self.enter("deleting");
        let runs = self.delete(&target, u64::MAX).await?;
        if filter.deletes_runs() {
            self.enter("deleting runs");
            // Runs that are named may have no batches left.
            let named = target.runs.iter().flatten().copied();
            for run in runs.into_iter().chain(named).collect::<BTreeSet<i64>>() {
                if run > 0 {
                    self.step(RetentionStep::BeginRun(run)).await?;
                }
            }
            self.repeat(RetentionStep::Runs).await?;
        }
        self.clean_up().await
    }

    async fn target(&self, filter: &PruneFilter) -> Result<PruneTarget, Interruption> {
        let mut snapshot = self.database.snapshot().await?;
        Ok(snapshot.prune_target(filter).await?)
    }

    /// Deletes at most `limit` batches, the oldest first; returns their runs.
    async fn delete(
        &self,
        target: &PruneTarget,
        limit: u64,
    ) -> Result<BTreeSet<i64>, Interruption> {
        let (mut runs, mut deleted) = (BTreeSet::new(), 0);
        let mut after = BatchId::from(0);
        loop {
            let mut snapshot = self.database.snapshot().await?;
            let batches = snapshot.next_batches(target, after, BATCHES).await?;
            // A snapshot prevents the log from being emptied.
            drop(snapshot);
            let Some(last) = batches.last() else {
                return Ok(runs);
            };
            after = last.id;
            for batch in batches {
                if deleted == limit {
                    return Ok(runs);
                }
                deleted += 1;
                self.repeat(RetentionStep::Bodies(batch.number)).await?;
                if !target.bodies_only {
                    self.repeat(RetentionStep::Grades(batch.number)).await?;
                    runs.insert(batch.run);
                }
            }
        }
    }

    /// Removes what deleted batches leave behind, and returns the space.
    async fn clean_up(&self) -> Result<(), Interruption> {
        self.enter("sweeping");
        self.repeat(RetentionStep::Sweep).await?;
        self.enter("returning space");
        self.repeat(RetentionStep::Vacuum).await?;
        self.database.truncate_log().await?;
        Ok(())
    }

    /// Deletes what exceeds the limits.
    async fn enforce_limits(&self) -> Result<(), Interruption> {
        let now_us = self.clock.unix_us();
        let older = |age_us: i64, bodies_only| {
            (age_us > 0).then(|| PruneFilter {
                keep_runs: self.limits.keep_runs.clone(),
                before_us: Some(now_us.saturating_sub(age_us)),
                bodies_only,
                ..PruneFilter::default()
            })
        };
        let by_age = [
            older(self.limits.body_age_us, true),
            older(self.limits.grade_age_us, false),
        ];
        for filter in by_age.into_iter().flatten() {
            let target = self.target(&filter).await?;
            let mut snapshot = self.database.snapshot().await?;
            let due = snapshot.next_batches(&target, BatchId::from(0), 1).await?;
            drop(snapshot);
            if !due.is_empty() {
                self.begin_automatic(&filter, now_us);
                self.prune(&filter).await?;
            }
        }
        self.enforce_size(now_us).await
    }

    /// Shows a prune of the limits, unless a requested one waits.
    fn begin_automatic(&self, filter: &PruneFilter, now_us: i64) {
        let mut shared = lock(&self.shared);
        let waits = |prune: &PruneProgress| prune.state == PruneState::Running && !prune.automatic;
        if !shared.prune.as_ref().is_some_and(waits) {
            let progress = begin(&mut shared, filter.clone(), true, now_us);
            shared.current = Some(progress.number);
        }
    }

    /// Deletes the oldest bodies, then the oldest grades, while the database exceeds its limit.
    async fn enforce_size(&self, now_us: i64) -> Result<(), Interruption> {
        let max = self.limits.max_bytes;
        if max == 0 || self.used_bytes().await? <= max {
            return Ok(());
        }
        let filter = |bodies_only| PruneFilter {
            keep_runs: self.limits.keep_runs.clone(),
            bodies_only,
            ..PruneFilter::default()
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a size needs no last digit"
        )]
        let goal = (max as f64 * TARGET_SHARE) as u64;
        self.begin_automatic(&filter(false), now_us);
        self.enter("counting");
        self.finish_interrupted().await?;
        self.repeat(RetentionStep::Count).await?;
        for bodies_only in [true, false] {
            self.enter("deleting");
            let target = self.target(&filter(bodies_only)).await?;
            loop {
                let mut snapshot = self.database.snapshot().await?;
                let left = snapshot.next_batches(&target, BatchId::from(0), 1).await?;
                drop(snapshot);
                if left.is_empty() || self.used_bytes().await? <= goal {
                    break;
                }
                self.delete(&target, BATCHES_PER_CHECK).await?;
            }
            self.repeat(RetentionStep::Sweep).await?;
            if self.used_bytes().await? <= goal {
                break;
            }
        }
        self.clean_up().await
    }

    /// Bytes of pages of the database that are not free.
    async fn used_bytes(&self) -> Result<u64, Interruption> {
        let report = self.database.snapshot().await?.storage(1).await?;
        Ok(report.file_bytes - report.free_bytes)
    }
}
