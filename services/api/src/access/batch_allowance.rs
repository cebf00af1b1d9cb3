//! What the caller of a batch may use, as the engine asks for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_access::{Caller, WorkCharge};
use assay_core::Clock;
use assay_engine::{Allowance, EngineError};

/// The allowance of a batch, within the quotas of its caller.
pub(super) struct BatchAllowance {
    pub(super) caller: Caller,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) items: usize,
    /// Estimate of the bytes that the batch takes in the record.
    pub(super) bytes: usize,
    /// The work of the batch while it is in progress.
    pub(super) work: Mutex<Option<WorkCharge>>,
}

impl BatchAllowance {
    fn work(&self) -> MutexGuard<'_, Option<WorkCharge>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for BatchAllowance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchAllowance")
            .field("caller", &self.caller)
            .field("items", &self.items)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Allowance for BatchAllowance {
    fn admit(&self) -> Result<(), EngineError> {
        let charge = self.caller.charge(self.items, self.bytes, &self.clock);
        let charge = charge.map_err(|exceeded| EngineError::QuotaExceeded {
            message: exceeded.to_string(),
            retry_after: Duration::from_secs(exceeded.retry_after_s()),
        })?;
        *self.work() = charge;
        Ok(())
    }

    fn start(&self) {
        if let Some(work) = &*self.work() {
            work.start();
        }
    }

    fn spend(&self, time: Duration) {
        if let Some(work) = &*self.work() {
            work.spend(time);
        }
    }

    fn finish(&self) {
        if let Some(work) = &*self.work() {
            work.finish();
        }
    }

    fn end(&self) {
        drop(self.work().take());
    }
}
