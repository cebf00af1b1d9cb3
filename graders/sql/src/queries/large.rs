//! Permits that bound the number of large results in memory.

use assay_core::{FairPermit, FairPermits, worker_use};
use assay_worker::MAX_FRAME;
use assay_worker::query::{Limits, RUN_OVERHEAD};

use crate::task::MAX_RESULT_BYTES;

/// Maximum number of concurrent calls with large results, over all tasks and of one caller.
const MAX_PERMITS: usize = 2;
const MAX_PERMITS_PER_CALLER: usize = 1;

/// Maximum bytes of results in a reply to a call without a permit, and of the results of golds that
/// it uses.
const BYTES_WITHOUT_PERMIT: u64 = 8 << 20;

/// Maximum bytes of the databases of a task that a call without a permit uses. Larger ones are
/// rare, and statements on them take long in any case.
const DATABASE_BYTES_WITHOUT_PERMIT: u64 = 64 << 20;

// A result of the largest size fits into a frame.
const _: () = assert!(MAX_RESULT_BYTES + RUN_OVERHEAD + (1 << 20) < MAX_FRAME as u64);

/// The permits of all calls, shared fairly by their callers. Cheap to clone.
#[derive(Clone)]
pub(super) struct LargePermits(FairPermits);

impl LargePermits {
    pub(super) fn new() -> Self {
        Self(FairPermits::new(MAX_PERMITS, MAX_PERMITS_PER_CALLER))
    }

    /// The state of a new call, which has no permit.
    pub(super) fn call(&self) -> LargeResults {
        LargeResults {
            permits: self.0.clone(),
            permit: None,
        }
    }
}

/// Whether a call may request large results, or use those of golds. A call waits for a permit when
/// it first needs one, and holds it until the call ends. No call waits for a permit while a worker
/// works for it, and a call with a permit waits only for workers, so there is no deadlock.
pub(crate) struct LargeResults {
    permits: FairPermits,
    permit: Option<FairPermit>,
}

impl LargeResults {
    /// Maximum bytes of results in a reply.
    pub(super) fn reply_bytes(&self, limits: Limits) -> u64 {
        if self.permit.is_some() {
            BYTES_WITHOUT_PERMIT.max(limits.bytes + RUN_OVERHEAD)
        } else {
            BYTES_WITHOUT_PERMIT
        }
    }

    /// Waits for a permit if the call needs one to use so many bytes of results of golds and of
    /// databases.
    pub(crate) async fn hold(&mut self, results: u64, databases: u64) {
        if results > BYTES_WITHOUT_PERMIT || databases > DATABASE_BYTES_WITHOUT_PERMIT {
            self.acquire().await;
        }
    }

    /// Waits for a permit; returns whether the call had none before.
    pub(super) async fn acquire(&mut self) -> bool {
        if self.permit.is_some() {
            return false;
        }
        // The permits are never closed.
        let acquired = self.permits.acquire(&worker_use::caller());
        self.permit = worker_use::waiting(acquired).await.ok();
        self.permit.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const LIMITS: Limits = Limits {
        rows: 1,
        bytes: MAX_RESULT_BYTES,
        memory_bytes: 1,
        long_values: false,
        long_value_steps: 1,
    };

    /// The result of [`LargeResults::acquire`] for this caller, or `None` if it has to wait.
    fn acquires(caller: &str, large: &mut LargeResults) -> Option<bool> {
        let caller = caller.into();
        let acquiring = worker_use::measured(&caller, large.acquire());
        match pin!(acquiring)
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready((acquired, _)) => Some(acquired),
            Poll::Pending => None,
        }
    }

    #[test]
    fn bounds_the_number_of_permits() {
        let permits = LargePermits::new();
        let [mut a, mut again, mut b, mut c] = std::array::from_fn(|_| permits.call());
        assert_eq!(a.reply_bytes(LIMITS), BYTES_WITHOUT_PERMIT);
        assert_eq!(acquires("a", &mut a), Some(true));
        assert_eq!(acquires("a", &mut a), Some(false));
        assert_eq!(a.reply_bytes(LIMITS), MAX_RESULT_BYTES + RUN_OVERHEAD);
        assert_eq!(acquires("a", &mut again), None);
        assert_eq!(acquires("b", &mut b), Some(true));
        assert_eq!(acquires("c", &mut c), None);
        drop(a);
        assert_eq!(acquires("c", &mut c), Some(true));
        assert_eq!(acquires("a", &mut again), None);
    }

    #[test]
    fn a_permit_never_lowers_the_limit() {
        let permits = LargePermits::new();
        let mut large = permits.call();
        acquires("a", &mut large).unwrap();
        assert_eq!(
            large.reply_bytes(Limits { bytes: 1, ..LIMITS }),
            BYTES_WITHOUT_PERMIT
        );
    }
}
