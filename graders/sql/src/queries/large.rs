//! Permits for large results, of which only a few may be in memory at once.

use std::sync::Arc;

use assay_worker::MAX_FRAME;
use assay_worker::query::{Limits, RUN_OVERHEAD};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::task::MOST_RESULT_BYTES;

/// Calls that may ask for large results at once, over all tasks.
const AT_ONCE: usize = 2;

/// Bytes of results in a reply that need no permit.
const SMALL: u64 = 8 << 20;

// A result of the largest size fits into a frame.
const _: () = assert!(MOST_RESULT_BYTES + RUN_OVERHEAD + (1 << 20) < MAX_FRAME as u64);

/// The permits. Cheap to clone.
#[derive(Clone)]
pub(super) struct LargePermits(Arc<Semaphore>);

impl LargePermits {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }

    /// For one call, without a permit so far.
    pub(super) fn call(&self) -> LargeResults {
        LargeResults {
            permits: Arc::clone(&self.0),
            permit: None,
        }
    }
}

/// Whether a call may ask for large results. It waits for a permit when it first needs one and
/// keeps it until it ends. No call waits for a permit while a worker works for it, and a call with
/// a permit waits only for workers, so there is no deadlock.
pub(crate) struct LargeResults {
    permits: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl LargeResults {
    /// Most bytes of results in a reply.
    pub(super) fn reply_bytes(&self, limits: Limits) -> u64 {
        if self.permit.is_some() {
            SMALL.max(limits.bytes + RUN_OVERHEAD)
        } else {
            SMALL
        }
    }

    /// Waits for a permit; returns whether the call had none before.
    pub(super) async fn acquire(&mut self) -> bool {
        if self.permit.is_some() {
            return false;
        }
        // Nobody closes the semaphore.
        self.permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        self.permit.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    const LIMITS: Limits = Limits {
        rows: 1,
        bytes: MOST_RESULT_BYTES,
        memory_bytes: 1,
        long_values: false,
    };

    /// The result of [`LargeResults::acquire`], or `None` if it has to wait.
    fn acquires(large: &mut LargeResults) -> Option<bool> {
        let mut taking = std::pin::pin!(large.acquire());
        match taking
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(taken) => Some(taken),
            Poll::Pending => None,
        }
    }

    #[test]
    fn limits_the_calls_with_a_permit() {
        let permits = LargePermits::new();
        let mut calls: Vec<LargeResults> = (0..=AT_ONCE).map(|_| permits.call()).collect();
        let (waiting, holding) = calls.split_last_mut().unwrap();
        for large in holding.iter_mut() {
            assert_eq!(large.reply_bytes(LIMITS), SMALL);
            assert_eq!(
                (acquires(large), acquires(large)),
                (Some(true), Some(false))
            );
            assert_eq!(large.reply_bytes(LIMITS), MOST_RESULT_BYTES + RUN_OVERHEAD);
        }
        assert_eq!(acquires(waiting), None);
        drop(calls.remove(0));
        assert_eq!(calls.last_mut().and_then(acquires), Some(true));
    }

    #[test]
    fn a_permit_never_lowers_the_limit() {
        let permits = LargePermits::new();
        let mut large = permits.call();
        acquires(&mut large).unwrap();
        assert_eq!(large.reply_bytes(Limits { bytes: 1, ..LIMITS }), SMALL);
    }
}
