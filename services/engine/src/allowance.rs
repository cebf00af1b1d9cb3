//! What the key that sent a batch may use, and how the pipeline charges it.

use std::time::Duration;

use crate::EngineError;
use crate::grade::GradedItem;
use crate::plan::Plan;

/// What the key that sent a batch may use.
pub trait Allowance: Send + Sync + std::fmt::Debug {
    /// Admits the items of the batch. Is called before the other methods, and not at all if the
    /// request was sent before and its reply is recorded.
    ///
    /// # Errors
    /// [`EngineError::QuotaExceeded`]; nothing is charged.
    fn admit(&self) -> Result<(), EngineError>;

    /// Grading starts.
    fn start(&self);

    /// Charges the time that graders took for items of the batch.
    fn spend(&self, time: Duration);

    /// All items of the batch were charged.
    fn finish(&self);

    /// The batch has ended: its items are no longer in progress. Without [`Allowance::finish`], the
    /// time since the last charge is charged.
    fn end(&self);
}

/// Charges the key of a batch until this is dropped, which is before the reply is: a client may
/// keep its reply for long.
pub(crate) struct Charging<'a>(Option<&'a dyn Allowance>);

impl<'a> Charging<'a> {
    pub(crate) fn start(plan: &'a Plan) -> Self {
        let allowance = plan.batch.allowance.as_deref();
        if let Some(allowance) = allowance {
            allowance.start();
        }
        Self(allowance)
    }

    pub(crate) fn spend(&self, wave: &[GradedItem]) {
        if let Some(allowance) = self.0 {
            allowance.spend(wave.iter().map(GradedItem::charged).sum());
        }
    }

    pub(crate) fn finish(self) {
        if let Some(allowance) = self.0 {
            allowance.finish();
        }
    }
}

impl Drop for Charging<'_> {
    fn drop(&mut self) {
        if let Some(allowance) = self.0 {
            allowance.end();
        }
    }
}
