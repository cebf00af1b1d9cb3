//! Who uses sandbox workers, and the time during which work waits for them and occupies them.
//! Callers share the workers fairly. A caller is charged for the time of its workers and not for
//! waiting, which depends on the work of others.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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

/// A piece of work: whose it is, and the time of its workers so far.
struct Work {
    caller: Arc<str>,
    time: Mutex<WorkerTime>,
}

impl Work {
    fn time(&self) -> MutexGuard<'_, WorkerTime> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// The work that this thread is polling.
    static CURRENT: RefCell<Option<Arc<Work>>> = const { RefCell::new(None) };
}

/// Restores the outer work when a poll ends, also by a panic.
struct PollGuard(Option<Arc<Work>>);

impl PollGuard {
    fn enter(work: &Arc<Work>) -> Self {
        Self(CURRENT.replace(Some(Arc::clone(work))))
    }
}

impl Drop for PollGuard {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Runs the work of a caller, and returns its result and the time of the workers that it used. Work
/// that it moves to other tasks does not count.
pub async fn measured<T>(caller: &Arc<str>, work: impl Future<Output = T>) -> (T, WorkerTime) {
    let current = Arc::new(Work {
        caller: Arc::clone(caller),
        time: Mutex::default(),
    });
    let mut work = pin!(work);
    let result = poll_fn(|cx| {
        let _guard = PollGuard::enter(&current);
        work.as_mut().poll(cx)
    });
    let result = result.await;
    let time = *current.time();
    (result, time)
}

/// Adds to the time of the work that this thread is polling, if it is [`measured`].
pub fn add(time: WorkerTime) {
    CURRENT.with_borrow(|current| {
        if let Some(current) = current {
            let mut sum = current.time();
            sum.waited = sum.waited.saturating_add(time.waited);
            sum.occupied = sum.occupied.saturating_add(time.occupied);
        }
    });
}

/// Waits for something that depends on the work of others, which is not charged.
pub async fn waiting<T>(wait: impl Future<Output = T>) -> T {
    /// Adds the time also if the wait is dropped, because it took too long.
    struct Waiting(Instant);

    impl Drop for Waiting {
        fn drop(&mut self) {
            add(WorkerTime {
                waited: self.0.elapsed(),
                ..WorkerTime::default()
            });
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "measures a wait, and decides nothing"
    )]
    let _waiting = Waiting(Instant::now());
    wait.await
}

/// The caller of the work that this thread is polling. Work that is not [`measured`] belongs to the
/// node itself, which has an empty name.
#[must_use]
pub fn caller() -> Arc<str> {
    CURRENT.with_borrow(|current| {
        let caller = current.as_ref().map(|work| Arc::clone(&work.caller));
        caller.unwrap_or_default()
    })
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
    fn each_work_has_its_own_caller_and_time() {
        let [a, b]: [Arc<str>; 2] = ["a", "b"].map(Into::into);
        let inner = async {
            add(seconds(1, 2));
            caller()
        };
        let outer = async {
            add(seconds(10, 20));
            let inner = measured(&b, inner).await;
            add(seconds(100, 200));
            (inner, caller())
        };
        add(seconds(1_000, 1_000));
        assert_eq!(&*caller(), "");
        let ((inner, outer), time) = measured(&a, outer).now_or_never().unwrap();
        assert_eq!(inner, (Arc::clone(&b), seconds(1, 2)));
        assert_eq!((outer, time), (Arc::clone(&a), seconds(110, 220)));
        assert_eq!(
            measured(&a, async {}).now_or_never(),
            Some(((), WorkerTime::default()))
        );
        assert_eq!(&*caller(), "");
    }
}
