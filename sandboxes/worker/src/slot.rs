//! A slot in which one request runs at a time. While another caller waits, it is passed on and
//! regained.

use std::sync::Arc;
use std::time::Duration;

use assay_core::FairPermit;
use assay_core::worker_use::{self, WorkerTime};
use tokio::time::Instant;

use crate::WorkerError;
use crate::scheduler::{Rank, Scheduler, Tracked};

/// How long short requests can follow each other while a caller waits that has fewer workers. Much
/// longer than switching to another worker takes.
const SLICE: Duration = Duration::from_millis(10);

/// A slot of a caller. When it is dropped, the next waiter gets it.
pub(crate) struct Slot {
    scheduler: Scheduler,
    caller: Arc<str>,
    /// `None` while another caller has it.
    turn: Option<Turn>,
}

/// The time during which a slot is held.
struct Turn {
    since: Instant,
    permit: FairPermit,
}

impl Drop for Turn {
    fn drop(&mut self) {
        worker_use::add(WorkerTime {
            occupied: self.since.elapsed(),
            ..WorkerTime::default()
        });
    }
}

impl Slot {
    /// Waits for a slot for the caller of the current work.
    pub(crate) async fn acquire(scheduler: &Scheduler) -> Result<Self, WorkerError> {
        let caller = worker_use::caller();
        let turn = Some(Turn::wait(scheduler, &caller, Rank::New).await?);
        Ok(Self {
            scheduler: scheduler.clone(),
            caller,
            turn,
        })
    }

    /// Passes the slot on until [`Self::regain`].
    pub(crate) fn release(&mut self) {
        self.turn = None;
    }

    /// Waits for the slot if it was passed on.
    pub(crate) async fn regain(&mut self, rank: Rank) -> Result<(), WorkerError> {
        if self.turn.is_none() {
            self.turn = Some(Turn::wait(&self.scheduler, &self.caller, rank).await?);
        }
        Ok(())
    }

    /// Whether the slot should be passed on before the next request.
    pub(crate) fn is_due(&self) -> bool {
        let is_due = |turn: &Turn| turn.permit.is_owed() && turn.since.elapsed() >= SLICE;
        self.turn.as_ref().is_some_and(is_due)
    }

    /// Tracks a request that runs since `started`, so that it can be preempted after `protected`.
    pub(crate) fn track(&self, started: Instant, protected: Instant) -> Tracked {
        self.scheduler.track(&self.caller, started, protected)
    }
}

impl Turn {
    async fn wait(
        scheduler: &Scheduler,
        caller: &Arc<str>,
        rank: Rank,
    ) -> Result<Self, WorkerError> {
        let acquired = worker_use::waiting(scheduler.acquire(caller, rank)).await;
        let since = Instant::now();
        // The permits are closed only when the pool or a sibling stops.
        let permit = acquired.map_err(|_| WorkerError::Stopping)?;
        Ok(Self { since, permit })
    }
}
