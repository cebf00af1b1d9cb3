//! The time during which work waits for sandbox workers and occupies them. A caller is charged for
//! the latter: how long it waits depends on the work of others.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time of all workers that a piece of work used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerTime {
    /// Time during which it waited for workers.
    pub waited: Duration,
    /// Time during which it occupied workers; two at once count twice.
    pub occupied: Duration,
}

impl WorkerTime {
    /// What work that took `elapsed` is charged: the time without the waiting, or the time of its
    /// workers if that is more.
    #[must_use]
    pub fn charged(self, elapsed: Duration) -> Duration {
        elapsed.saturating_sub(self.waited).max(self.occupied)
    }
}

type Shared = Arc<Mutex<WorkerTime>>;

thread_local! {
    /// The time of the work that this thread is polling.
    static CURRENT: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// Restores the time of the outer work when a poll ends, also by a panic.
struct Poll(Option<Shared>);

impl Poll {
    fn of(time: &Shared) -> Self {
        Self(CURRENT.replace(Some(Arc::clone(time))))
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Runs `work`, and returns its result and the time of the workers that it used. Work that it moves
/// to other tasks does not count.
pub async fn measured<T>(work: impl Future<Output = T>) -> (T, WorkerTime) {
    let time = Shared::default();
    let mut work = pin!(work);
    let result = poll_fn(|cx| {
        let _poll = Poll::of(&time);
        work.as_mut().poll(cx)
    });
    let result = result.await;
    let time = *time.lock().unwrap_or_else(PoisonError::into_inner);
    (result, time)
}

/// Adds to the time of the work that this thread is polling, if it is [`measured`].
pub fn add(time: WorkerTime) {
    CURRENT.with_borrow(|current| {
        if let Some(current) = current {
            let mut sum = current.lock().unwrap_or_else(PoisonError::into_inner);
            sum.waited = sum.waited.saturating_add(time.waited);
            sum.occupied = sum.occupied.saturating_add(time.occupied);
        }
    });
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn seconds(waited: u64, occupied: u64) -> WorkerTime {
        WorkerTime {
            waited: Duration::from_secs(waited),
            occupied: Duration::from_secs(occupied),
        }
    }

    #[test]
    fn waiting_is_not_charged() {
        let charged = |time: WorkerTime, elapsed| time.charged(Duration::from_secs(elapsed));
        assert_eq!(charged(seconds(0, 0), 3), Duration::from_secs(3));
        assert_eq!(charged(seconds(2, 1), 3), Duration::from_secs(1));
        assert_eq!(charged(seconds(2, 0), 5), Duration::from_secs(3));
        // Two workers at once, for which both waited.
        assert_eq!(charged(seconds(4, 6), 5), Duration::from_secs(6));
    }

    #[test]
    fn each_work_has_its_own_time() {
        let inner = async {
            add(seconds(1, 2));
            7
        };
        let outer = async {
            add(seconds(10, 20));
            let inner = measured(inner).await;
            add(seconds(100, 200));
            inner
        };
        add(seconds(1_000, 1_000));
        let (inner, time) = measured(outer).now_or_never().unwrap();
        assert_eq!(inner, (7, seconds(1, 2)));
        assert_eq!(time, seconds(110, 220));
        assert_eq!(
            measured(async {}).now_or_never(),
            Some(((), WorkerTime::default()))
        );
    }
}
