//! Stops calling a judge whose calls fail, so that items fail at once instead of waiting for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_core::Clock;

/// Why a judge is not called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stopped {
    /// The remaining pause; zero while one call tries whether the judge works again.
    pub(crate) left: Duration,
    /// The reason of the last failure.
    pub(crate) reason: String,
}

/// Counts failed calls in a row.
pub(crate) struct Breaker {
    max_failures: u32,
    pause: Duration,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failures: u32,
    reason: String,
    /// The end of the pause, while calls are stopped.
    until: Option<Duration>,
    /// One call tries whether the judge works again.
    trying: bool,
}

/// The permission for one call. A call that ends without a result, because its item was cancelled,
/// lets another one try.
pub(crate) struct Pass<'b> {
    breaker: &'b Breaker,
    tries: bool,
}

impl Breaker {
    pub(crate) fn new(max_failures: u32, pause: Duration, clock: Arc<dyn Clock>) -> Self {
        Self {
            max_failures,
            pause,
            clock,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Permits a call. After a pause, one call at a time until one succeeds.
    pub(crate) fn enter(&self) -> Result<Pass<'_>, Stopped> {
        let now = self.clock.monotonic();
        let mut state = self.state();
        let Some(until) = state.until else {
            return Ok(Pass {
                breaker: self,
                tries: false,
            });
        };
        if now < until || state.trying {
            return Err(Stopped {
                left: until.saturating_sub(now),
                reason: state.reason.clone(),
            });
        }
        state.trying = true;
        Ok(Pass {
            breaker: self,
            tries: true,
        })
    }

    /// Whether calls are stopped.
    pub(crate) fn is_open(&self) -> bool {
        self.state().until.is_some()
    }
}

impl Pass<'_> {
    /// The judge replied.
    pub(crate) fn succeeded(self) {
        *self.breaker.state() = State::default();
    }

    /// The call failed.
    pub(crate) fn failed(self, reason: &str) {
        let now = self.breaker.clock.monotonic();
        let mut state = self.breaker.state();
        state.failures = state.failures.saturating_add(1);
        reason.clone_into(&mut state.reason);
        if self.tries || state.failures >= self.breaker.max_failures {
            state.until = Some(now + self.breaker.pause);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.tries {
            self.breaker.state().trying = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Default)]
    struct TestClock(AtomicU64);

    impl Clock for TestClock {
        fn unix_us(&self) -> i64 {
            0
        }

        fn monotonic(&self) -> Duration {
            Duration::from_secs(self.0.load(Ordering::SeqCst))
        }
    }

    #[test]
    fn stops_after_failures_and_tries_with_one_call() {
        let clock = Arc::new(TestClock::default());
        let breaker = Breaker::new(2, Duration::from_secs(30), Arc::clone(&clock) as _);
        breaker.enter().unwrap().failed("a");
        breaker.enter().unwrap().succeeded();
        breaker.enter().unwrap().failed("b");
        assert!(!breaker.is_open(), "a success starts the count again");
        breaker.enter().unwrap().failed("c");
        let stopped = breaker.enter().err().unwrap();
        assert_eq!((stopped.left.as_secs(), &*stopped.reason), (30, "c"));

        clock.0.store(30, Ordering::SeqCst);
        let tries = breaker.enter().unwrap();
        assert!(breaker.enter().is_err(), "one call at a time");
        tries.failed("d");
        assert_eq!(breaker.enter().err().unwrap().reason, "d");

        clock.0.store(60, Ordering::SeqCst);
        drop(breaker.enter().unwrap());
        breaker.enter().unwrap().succeeded();
        assert!(!breaker.is_open() && breaker.enter().is_ok());
    }
}
