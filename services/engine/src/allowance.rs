//! What the key that sent a batch may use, as the engine asks for it.

use std::time::Duration;

use crate::EngineError;

/// What the key that sent a batch may use.
pub trait Allowance: Send + Sync + std::fmt::Debug {
    /// Admits the batch, with so many tasks over all its items, and starts to charge time; `None`
    /// charges nobody. Is not called if the request was sent before and its reply is recorded.
    ///
    /// # Errors
    /// [`EngineError::QuotaExceeded`]; nothing is charged.
    fn admit(&self, tasks: usize) -> Result<Option<Box<dyn Charge>>, EngineError>;
}

/// Charges a key for a batch in progress. If it is dropped without [`finish`](Charge::finish) or
/// [`reject`](Charge::reject), the time since the last charge is charged.
pub trait Charge: Send + Sync {
    /// Charges the time that graders took for tasks and items of the batch.
    fn spend(&self, time: Duration);

    /// The batch is rejected: its time is charged, and one item, so that requests that are rejected
    /// do not cost nothing.
    fn reject(self: Box<Self>);

    /// All items of the batch were charged. Its items are no longer in progress, although a client
    /// may keep its reply for long.
    fn finish(self: Box<Self>);
}
