//! Stops the calls of a caller to a judge that fail, so that items fail at once instead of waiting.
//! Callers are counted separately: one whose items make a judge fail must not stop it for others.

use std::collections::HashMap;
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

/// Number of callers that are counted separately; further ones are counted together.
const MAX_CALLERS: usize = 4_096;

/// Counts failed calls in a row.
pub(crate) struct Breaker {
    max_failures: u32,
    pause: Duration,
    clock: Arc<dyn Clock>,
    /// Of callers whose last call failed.
    states: Mutex<HashMap<Arc<str>, State>>,
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
    caller: Arc<str>,
    tries: bool,
}

impl Breaker {
    pub(crate) fn new(max_failures: u32, pause: Duration, clock: Arc<dyn Clock>) -> Self {
        Self {
            max_failures,
            pause,
            clock,
            states: Mutex::default(),
        }
    }

    fn states(&self) -> MutexGuard<'_, HashMap<Arc<str>, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Permits a call of a caller. After a pause, one call at a time until one succeeds.
    pub(crate) fn enter(&self, caller: &Arc<str>) -> Result<Pass<'_>, Stopped> {
        let now = self.clock.monotonic();
        let mut states = self.states();
        let caller = if states.contains_key(caller) || states.len() < MAX_CALLERS {
            Arc::clone(caller)
        } else {
            Arc::default()
        };
        let mut tries = false;
        if let Some(state) = states.get_mut(&caller)
            && let Some(until) = state.until
        {
            if now < until || state.trying {
                return Err(Stopped {
                    left: until.saturating_sub(now),
                    reason: state.reason.clone(),
                });
            }
            state.trying = true;
            tries = true;
        }
        Ok(Pass {
            breaker: self,
            caller,
            tries,
        })
    }

    /// Whether the calls of any caller are stopped.
    pub(crate) fn is_open(&self) -> bool {
        let states = self.states();
        states.values().any(|state| state.until.is_some())
    }
}

impl Pass<'_> {
    /// The judge replied.
    pub(crate) fn succeeded(self) {
        self.breaker.states().remove(&self.caller);
    }

    /// The call failed.
    pub(crate) fn failed(self, reason: &str) {
        let now = self.breaker.clock.monotonic();
        let mut states = self.breaker.states();
        let state = states.entry(Arc::clone(&self.caller)).or_default();
        state.failures = state.failures.saturating_add(1);
        reason.clone_into(&mut state.reason);
        if self.tries || state.failures >= self.breaker.max_failures {
            state.until = Some(now + self.breaker.pause);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.tries
            && let Some(state) = self.breaker.states().get_mut(&self.caller)
        {
            state.trying = false;
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
        let (caller, other) = (Arc::from("caller"), Arc::from("other"));
        breaker.enter(&caller).unwrap().failed("a");
        breaker.enter(&caller).unwrap().succeeded();
        breaker.enter(&caller).unwrap().failed("b");
        assert!(!breaker.is_open(), "a success starts the count again");
        breaker.enter(&caller).unwrap().failed("c");
        let stopped = breaker.enter(&caller).err().unwrap();
        assert_eq!((stopped.left.as_secs(), &*stopped.reason), (30, "c"));
        assert!(breaker.enter(&other).is_ok(), "others may call");

        clock.0.store(30, Ordering::SeqCst);
        let tries = breaker.enter(&caller).unwrap();
        assert!(breaker.enter(&caller).is_err(), "one call at a time");
        tries.failed("d");
        assert_eq!(breaker.enter(&caller).err().unwrap().reason, "d");

        clock.0.store(60, Ordering::SeqCst);
        drop(breaker.enter(&caller).unwrap());
        breaker.enter(&caller).unwrap().succeeded();
        assert!(!breaker.is_open() && breaker.enter(&caller).is_ok());
    }
}
