//! What the key that sent a batch may use, as the engine asks for it.

use std::time::Duration;

use crate::EngineError;

/// What the key that sent a batch may use.
pub trait Allowance: Send + Sync + std::fmt::Debug {
    /// Admits the batch, with so many tasks over all its items, and starts to charge time. Is
    /// called before the other methods, and not at all if the request was sent before and its reply
    /// is recorded.
    ///
    /// # Errors
    /// [`EngineError::QuotaExceeded`]; nothing is charged.
    fn admit(&self, tasks: usize) -> Result<(), EngineError>;

    /// Charges the time that graders took for tasks and items of the batch.
    fn spend(&self, time: Duration);

    /// The batch is rejected: its time is charged, and one item, so that requests that are rejected
    /// do not cost nothing.
    fn reject(&self);

    /// All items of the batch were charged.
    fn finish(&self);

    /// The batch has ended: its items are no longer in progress. Without [`Allowance::finish`] or
    /// [`Allowance::reject`], the time since the last charge is charged.
    fn end(&self);
}
