//! The quotas of the caller of a batch, as the engine checks and charges them.

use std::sync::Arc;
use std::time::Duration;

use assay_access::{Caller, WorkCharge};
use assay_core::Clock;
use assay_engine::{Allowance, Charge, EngineError};

/// Estimate of the bytes that a grade takes in the record, in addition to the texts of the request.
const GRADE_BYTES: usize = 512;

/// The allowance of a batch, within the quotas of its caller.
pub(super) struct BatchAllowance {
    pub(super) caller: Caller,
    pub(super) clock: Arc<dyn Clock>,
    /// Bytes of the request.
    pub(super) body_bytes: usize,
}

impl std::fmt::Debug for BatchAllowance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchAllowance")
            .field("caller", &self.caller)
            .field("body_bytes", &self.body_bytes)
            .finish_non_exhaustive()
    }
}

impl Allowance for BatchAllowance {
    fn admit(&self, tasks: usize) -> Result<Option<Box<dyn Charge>>, EngineError> {
        // Each check of an item counts as an item.
        let bytes = self.body_bytes + tasks * GRADE_BYTES;
        let charge = self.caller.charge(tasks, bytes, &self.clock);
        let charge = charge.map_err(|exceeded| EngineError::QuotaExceeded {
            message: exceeded.to_string(),
            retry_after: Duration::from_secs(exceeded.retry_after_s()),
        })?;
        Ok(charge.map(|charge| {
            charge.start();
            Box::new(BatchCharge(charge)) as Box<dyn Charge>
        }))
    }
}

/// The charge of a batch in progress.
struct BatchCharge(WorkCharge);

impl Charge for BatchCharge {
    fn spend(&self, time: Duration) {
        self.0.spend(time);
    }

    fn reject(self: Box<Self>) {
        self.0.reject();
    }

    fn finish(self: Box<Self>) {
        self.0.finish();
    }
}
