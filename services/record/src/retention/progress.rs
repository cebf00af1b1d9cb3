//! Starts prunes and shows their progress. The task that deletes works on one prune at a time, and
//! one may wait for the check of the limits to end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::RecordError;
use crate::names::DeletedNames;
use crate::retention_step::StepOutcome;
use crate::storage::{PruneFilter, PruneProgress, PruneState, RetentionLimits, StorageReport};

/// Most prunes that wait.
const QUEUE: usize = 1;

/// A prune that was requested.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) filter: PruneFilter,
}

#[derive(Debug, Default)]
struct ProgressState {
    /// The prune that was started last.
    prune: Option<PruneProgress>,
    started: u64,
    /// Number of the prune that the task works on; an earlier one than `prune` while that waits.
    current: Option<u64>,
    /// Bytes that it freed; negative while more bodies were moved than deleted.
    body_bytes: i64,
    next_check_us: Option<i64>,
    /// Names that were deleted and not taken yet.
    deleted: DeletedNames,
}

impl ProgressState {
    /// Shows a new prune.
    fn begin(&mut self, filter: PruneFilter, automatic: bool, now_us: i64) -> PruneProgress {
        self.started += 1;
        let progress = PruneProgress {
            number: self.started,
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
            channels: 0,
            error: None,
        };
        self.prune = Some(progress.clone());
        progress
    }

    fn set_current(&mut self, number: u64) {
        self.current = Some(number);
        self.body_bytes = 0;
    }

    /// The prune that the task works on, if it is the one that readers see.
    fn current(&mut self) -> Option<&mut PruneProgress> {
        let current = self.current;
        self.prune
            .as_mut()
            .filter(|prune| current == Some(prune.number))
    }

    /// Whether a requested prune runs or waits.
    fn is_busy(&self) -> bool {
        let busy = |prune: &PruneProgress| prune.state == PruneState::Running && !prune.automatic;
        self.prune.as_ref().is_some_and(busy)
    }
}

/// The progress that readers see.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress(Arc<Mutex<ProgressState>>);

impl Progress {
    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_next_check(&self, time_us: Option<i64>) {
        self.lock().next_check_us = time_us;
    }

    /// The task works on a requested prune.
    pub(super) fn set_current(&self, number: u64) {
        self.lock().set_current(number);
    }

    /// The task enforces the limits: shows that as a prune, unless a requested one waits.
    pub(super) fn begin_automatic(&self, filter: &PruneFilter, now_us: i64) {
        let mut state = self.lock();
        if !state.is_busy() {
            let number = state.begin(filter.clone(), true, now_us).number;
            state.set_current(number);
        }
    }

    pub(super) fn enter(&self, phase: &str) {
        if let Some(prune) = self.lock().current() {
            tracing::debug!(phase, grades = prune.grades, "pruning the record");
            phase.clone_into(&mut prune.phase);
        }
    }

    pub(super) fn add(&self, outcome: &StepOutcome) {
        let mut state = self.lock();
        state.deleted.extend(outcome.names.clone());
        state.body_bytes += outcome.body_bytes;
        let body_bytes = u64::try_from(state.body_bytes).unwrap_or(0);
        if let Some(prune) = state.current() {
            prune.batches += outcome.batches;
            prune.grades += outcome.grades;
            prune.body_bytes = body_bytes;
            prune.runs += outcome.runs;
            prune.channels += outcome.channels;
        }
    }

    /// The prune ended.
    pub(super) fn end(&self, state: PruneState, error: Option<String>, now_us: i64) {
        let mut shown = self.lock();
        if let Some(prune) = shown.current() {
            prune.state = state;
            prune.error = error;
            prune.ended_us = Some(now_us);
            if state == PruneState::Done {
                tracing::info!(
                    batches = prune.batches,
                    grades = prune.grades,
                    runs = prune.runs,
                    channels = prune.channels,
                    body_bytes = prune.body_bytes,
                    "pruned the record"
                );
            }
        }
        shown.current = None;
    }
}

/// Starts prunes and reports their progress.
#[derive(Debug)]
pub(crate) struct RetentionHandle {
    prunes: mpsc::Sender<Request>,
    progress: Progress,
    limits: RetentionLimits,
}

impl RetentionHandle {
    /// Returns the requests for the task as well.
    pub(super) fn new(
        progress: Progress,
        limits: RetentionLimits,
    ) -> (Self, mpsc::Receiver<Request>) {
        let (prunes, requests) = mpsc::channel(QUEUE);
        let handle = Self {
            prunes,
            progress,
            limits,
        };
        (handle, requests)
    }

    /// Starts a prune. Fails if one is running.
    pub(crate) fn start(
        &self,
        filter: PruneFilter,
        now_us: i64,
    ) -> Result<PruneProgress, RecordError> {
        let busy = || {
            RecordError::Busy(
                "another prune is running; `GET /v1/storage` shows its progress".to_owned(),
            )
        };
        let mut state = self.progress.lock();
        if state.is_busy() {
            return Err(busy());
        }
        let permit = self.prunes.try_reserve().map_err(|_| busy())?;
        let progress = state.begin(filter, false, now_us);
        permit.send(Request {
            number: progress.number,
            filter: progress.filter.clone(),
        });
        Ok(progress)
    }

    /// Takes the names that were deleted.
    pub(crate) fn take_deleted_names(&self) -> DeletedNames {
        std::mem::take(&mut self.progress.lock().deleted)
    }

    /// Completes a report.
    pub(crate) fn complete(&self, report: StorageReport) -> StorageReport {
        let state = self.progress.lock();
        StorageReport {
            limits: self.limits.clone(),
            next_check_us: state.next_check_us,
            prune: state.prune.clone(),
            ..report
        }
    }
}
