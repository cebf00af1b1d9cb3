//! What the key that sent a batch may use, as the engine asks for it.

use std::time::Duration;

use crate::EngineError;

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
