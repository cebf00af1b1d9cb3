//! Charges the time of work to a key.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_core::Clock;
use assay_core::worker_use::{self, WorkerTime};

use crate::quota::Charge;

/// Charges work to the key that requested it. If it is dropped before the work has ended, because
/// the client disconnected, the time since the start is charged.
pub struct WorkCharge {
    charge: Charge,
    clock: Arc<dyn Clock>,
    /// When the work started, later by what was charged; `None` before it starts and after its end.
    since: Mutex<Option<Duration>>,
}

impl WorkCharge {
    pub(crate) fn new(charge: Charge, clock: Arc<dyn Clock>) -> Self {
        Self {
            charge,
            clock,
            since: Mutex::default(),
        }
    }

    fn since(&self) -> MutexGuard<'_, Option<Duration>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work starts.
    pub fn start(&self) {
        *self.since() = Some(self.clock.monotonic());
    }

    /// Charges a part of the work.
    pub fn spend(&self, time: Duration) {
        self.charge.spend(time);
        if let Some(since) = self.since().as_mut() {
            *since = since.saturating_add(time);
        }
    }

    /// The request was rejected: its time so far and one item are charged.
    pub fn reject(&self) {
        self.charge.reject();
        self.finish();
    }

    /// All work was charged.
    pub fn finish(&self) {
        *self.since() = None;
    }

    /// The work has ended, and used workers for this time.
    fn end(&self, workers: WorkerTime) {
        let since = self.since().take();
        if let Some(since) = since {
            let elapsed = self.clock.monotonic().saturating_sub(since);
            self.charge.spend(workers.charged(elapsed));
        }
    }
}

impl fmt::Debug for WorkCharge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkCharge")
            .field("charge", &self.charge)
            .finish_non_exhaustive()
    }
}

impl Drop for WorkCharge {
    fn drop(&mut self) {
        self.end(WorkerTime::default());
    }
}

/// Runs `work` with a share of the workers, and charges the time until it ends or is dropped. The
/// time during which it waits for workers is charged only if it is dropped. `None` charges nobody.
pub async fn metered<T>(
    share: &Arc<str>,
    charge: Option<WorkCharge>,
    work: impl Future<Output = T>,
) -> T {
    if let Some(charge) = &charge {
        charge.start();
    }
    let (result, workers) = worker_use::measured(share, work).await;
    if let Some(charge) = charge {
        charge.end(workers);
    }
    result
}
