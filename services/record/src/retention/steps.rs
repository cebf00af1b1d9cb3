//! Does steps of retention, with pauses between them.

use std::sync::Arc;
use std::time::Duration;

use assay_core::Clock;
use tokio::sync::watch;

use super::pace::{MAX_YIELD, Pace, pause};
use super::progress::Progress;
use crate::database::{Database, DatabaseError, Leader, Snapshot};
use crate::metrics;
use crate::pending::Pending;
use crate::retention_step::{RetentionStep, StepOutcome};

/// With more pending entries than this, deletion waits for the writer, at most [`MAX_YIELD`] after
/// each step: some progress is made under any load.
const MAX_PENDING: usize = 32;

/// Why a prune ended early.
pub(super) enum Interruption {
    /// The record is closing.
    Draining,
    /// Another node deletes.
    Led,
    Failed(DatabaseError),
}

impl From<DatabaseError> for Interruption {
    fn from(error: DatabaseError) -> Self {
        Self::Failed(error)
    }
}

/// Does the steps of one prune after the other.
pub(super) struct Steps {
    pub(super) database: Arc<Database>,
    pub(super) pending: Arc<Pending>,
    pub(super) clock: Arc<dyn Clock>,
    /// Becomes true when the record is closing.
    pub(super) draining: watch::Receiver<bool>,
    pub(super) progress: Progress,
}

impl Steps {
    /// Waits until the record is closing.
    pub(super) async fn closing(&self) {
        // An error means that the record is gone.
        let _ = self.draining.clone().wait_for(|draining| *draining).await;
    }

    /// Does `work` if no other node that shares the record deletes.
    pub(super) async fn lead(
        &self,
        work: impl Future<Output = Result<(), Interruption>>,
    ) -> Result<(), Interruption> {
        let lock = match self.database.lead_retention().await? {
            Leader::This(lock) => lock,
            Leader::Another => return Err(Interruption::Led),
        };
        let done = work.await;
        if let Some(lock) = lock {
            lock.release().await;
        }
        done
    }

    /// A state of the database. While it exists, the log cannot be emptied.
    pub(super) async fn snapshot(&self) -> Result<Snapshot, DatabaseError> {
        self.database.snapshot().await
    }

    /// Does a step and pauses after it.
    pub(super) async fn step(
        &self,
        step: &RetentionStep,
        pace: &mut Pace,
    ) -> Result<StepOutcome, Interruption> {
        if *self.draining.borrow() {
            return Err(Interruption::Draining);
        }
        let started = self.clock.monotonic();
        let outcome = self.database.retain(step, pace.amount()).await?;
        let took = self.clock.monotonic().saturating_sub(started);
        pace.adapt(took);
        metrics::pruned(took, outcome.grades);
        self.progress.add(&outcome);
        tokio::select! {
            () = self.pause(took) => {}
            () = self.closing() => {}
        }
        Ok(outcome)
    }

    async fn pause(&self, took: Duration) {
        let pause = pause(took, self.pending.len() > 0);
        tokio::time::sleep(pause).await;
        let mut waited = Duration::ZERO;
        while self.pending.len() > MAX_PENDING && waited < MAX_YIELD {
            tokio::time::sleep(pause).await;
            waited += pause;
        }
    }

    /// Repeats a step until nothing is left for it.
    pub(super) async fn repeat(
        &self,
        step: RetentionStep,
        pace: &mut Pace,
    ) -> Result<(), Interruption> {
        while !self.step(&step, pace).await?.done {}
        Ok(())
    }

    /// Does steps on the index of texts until `step` returns `None`, with the pauses of retention.
    /// `step` gets the position that the last one returned and the size of the step.
    pub(super) async fn repeat_texts<'t, F>(
        &self,
        step: impl Fn(i64, u32) -> F,
    ) -> Result<(), Interruption>
    where
        F: Future<Output = Result<Option<i64>, DatabaseError>> + Send + 't,
    {
        let mut pace = Pace::new();
        let mut after = Some(0);
        while let Some(position) = after {
            if *self.draining.borrow() {
                return Err(Interruption::Draining);
            }
            let started = self.clock.monotonic();
            after = step(position, pace.amount()).await?;
            let took = self.clock.monotonic().saturating_sub(started);
            pace.adapt(took);
            tokio::select! {
                () = self.pause(took) => {}
                () = self.closing() => {}
            }
        }
        Ok(())
    }
}
