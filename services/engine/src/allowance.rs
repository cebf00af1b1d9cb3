//! The quotas of the key that sent a batch, as the engine checks and charges them.

use std::time::Duration;

use crate::EngineError;

/// The quotas of the key that sent a batch.
pub trait Allowance: Send + Sync + std::fmt::Debug {
    /// Admits the batch, with `tasks` tasks in total, and starts to charge time. `None` if no key
    /// is charged. Is not called if the request was sent before and its reply is recorded.
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

    /// The batch is rejected: its time is charged, and one item, so that rejected requests are not
    /// free.
    fn reject(self: Box<Self>);

    /// All items of the batch were charged. Its items are no longer in progress, although a client
    /// may keep its reply for long.
    fn finish(self: Box<Self>);
}
