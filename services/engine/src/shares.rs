//! Amounts of a resource that callers share: items in progress, bytes of memory.
//!
//! A request is admitted if its caller then uses no more than what is left free. One caller alone
//! can use half of the resource, two that compete a third each, and so on, and a caller that uses
//! nothing always finds something free. This is the dynamic threshold of Choudhury and Hahne,
//! "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998, with the factor 1. It
//! needs neither the number of callers nor a limit for each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_core::Clock;

/// Shortest and longest `Retry-After`. A client that would have to wait longer should use another
/// node instead.
const MIN_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(60);

/// Time window over which the rate of releases is measured.
const RATE_WINDOW: Duration = Duration::from_millis(500);

/// A resource and what each caller uses of it.
pub(crate) struct Shares {
    capacity: usize,
    clock: Arc<dyn Clock>,
    usage: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    total: usize,
    /// Callers that use something.
    by_caller: HashMap<Arc<str>, usize>,
    rate: ReleaseRate,
}

/// A request does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shortage {
    /// Whether the caller itself uses more than half of what is free.
    pub(crate) own: bool,
    /// When enough should have been released, by the rate of recent releases.
    pub(crate) retry_after: Duration,
}

impl Shares {
    pub(crate) fn new(capacity: usize, clock: Arc<dyn Clock>) -> Self {
        Self {
            capacity,
            clock,
            usage: Mutex::default(),
        }
    }

    /// Most that a caller can use when no other uses anything.
    pub(crate) fn largest(&self) -> usize {
        self.capacity / 2
    }

    /// What all callers use.
    pub(crate) fn total(&self) -> usize {
        self.usage().total
    }

    /// What each caller uses, the largest amount first.
    pub(crate) fn by_caller(&self) -> Vec<(Arc<str>, usize)> {
        let mut callers: Vec<_> = {
            let usage = self.usage();
            let callers = usage.by_caller.iter();
            callers
                .map(|(name, used)| (Arc::clone(name), *used))
                .collect()
        };
        callers.sort_by(|(a, used_a), (b, used_b)| used_b.cmp(used_a).then_with(|| a.cmp(b)));
        callers
    }

    /// Adds `amount` to what `caller` uses, and returns what all use.
    ///
    /// # Errors
    /// [`Shortage`] if the caller would then use more than is left free; nothing is added.
    pub(crate) fn reserve(&self, caller: &Arc<str>, amount: usize) -> Result<usize, Shortage> {
        let mut usage = self.usage();
        let used = usage.by_caller.get(caller).copied().unwrap_or_default();
        let free = self.capacity.saturating_sub(usage.total);
        // After admission: used + amount <= free - amount.
        let needed = used.saturating_add(amount.saturating_mul(2));
        if amount > 0 && needed > free {
            let now = self.clock.monotonic();
            return Err(Shortage {
                own: used > free / 2,
                retry_after: usage.rate.time_for(needed - free, now),
            });
        }
        Ok(self.add(&mut usage, caller, amount))
    }

    /// Adds `amount` to what `caller` uses, even if it does not fit: it is in use already.
    pub(crate) fn force(&self, caller: &Arc<str>, amount: usize) {
        self.add(&mut self.usage(), caller, amount);
    }

    fn add(&self, usage: &mut Usage, caller: &Arc<str>, amount: usize) -> usize {
        if amount == 0 {
            return usage.total;
        }
        if usage.total == 0 {
            usage.rate.restart(self.clock.monotonic());
        }
        usage.total = usage.total.saturating_add(amount);
        match usage.by_caller.get_mut(caller) {
            Some(used) => *used = used.saturating_add(amount),
            None => drop(usage.by_caller.insert(Arc::clone(caller), amount)),
        }
        usage.total
    }

    /// Subtracts `amount` from what `caller` uses, and returns what all use.
    pub(crate) fn release(&self, caller: &Arc<str>, amount: usize) -> usize {
        let mut usage = self.usage();
        if amount == 0 {
            return usage.total;
        }
        usage.total = usage.total.saturating_sub(amount);
        if let Some(used) = usage.by_caller.get_mut(caller) {
            *used = used.saturating_sub(amount);
            if *used == 0 {
                usage.by_caller.remove(caller);
            }
        }
        usage.rate.released(amount, self.clock.monotonic());
        usage.total
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Amount released per second, smoothed over the windows in which something was released.
#[derive(Default)]
struct ReleaseRate {
    /// Zero before the end of the first window.
    per_second: f64,
    window_start: Duration,
    released: usize,
}

impl ReleaseRate {
    /// Starts a window when the resource comes into use: the time before says nothing.
    fn restart(&mut self, now: Duration) {
        self.window_start = now;
        self.released = 0;
    }

    fn released(&mut self, amount: usize, now: Duration) {
        self.released = self.released.saturating_add(amount);
        let span = now.saturating_sub(self.window_start);
        if span < RATE_WINDOW {
            return;
        }
        let latest = self.released as f64 / span.as_secs_f64();
        self.per_second = if self.per_second > 0.0 {
            0.7 * self.per_second + 0.3 * latest
        } else {
            latest
        };
        self.restart(now);
    }

    /// The time in which `amount` should be released.
    fn time_for(&self, amount: usize, now: Duration) -> Duration {
        let amount = amount as f64;
        let open = now.saturating_sub(self.window_start);
        // While nothing is released, the rate of earlier windows says less and less.
        let most = if open > RATE_WINDOW {
            (self.released as f64 + amount) / open.as_secs_f64()
        } else {
            f64::INFINITY
        };
        let rate = if self.per_second > 0.0 {
            self.per_second.min(most)
        } else {
            most
        };
        let seconds = (amount / rate).ceil();
        let seconds = if seconds.is_finite() { seconds } else { 0.0 };
        Duration::from_secs_f64(seconds.clamp(MIN_RETRY.as_secs_f64(), MAX_RETRY.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use proptest::prelude::*;

    use super::*;

    /// A clock that a test sets, in milliseconds.
    #[derive(Default)]
    struct TestClock(AtomicU64);

    impl Clock for TestClock {
        fn monotonic(&self) -> Duration {
            Duration::from_millis(self.0.load(Ordering::Relaxed))
        }

        fn unix_us(&self) -> i64 {
            0
        }
    }

    fn shares(capacity: usize) -> (Shares, Arc<TestClock>) {
        let clock = Arc::new(TestClock::default());
        let shared: Arc<dyn Clock> = Arc::<TestClock>::clone(&clock);
        (Shares::new(capacity, shared), clock)
    }

    fn caller(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn a_caller_alone_uses_half_and_two_use_a_third_each() {
        let (shares, _) = shares(120);
        let (a, b, c) = (caller("a"), caller("b"), caller("c"));
        assert_eq!(shares.largest(), 60);
        shares.reserve(&a, 60).unwrap();
        assert!(shares.reserve(&a, 1).unwrap_err().own);
        shares.reserve(&b, 30).unwrap();
        assert!(shares.reserve(&b, 1).is_err());
        shares.release(&a, 20);
        shares.reserve(&b, 10).unwrap();
        assert!(shares.reserve(&a, 1).is_err());
        let crowded = shares.reserve(&c, 21).unwrap_err();
        assert!(!crowded.own);
        shares.reserve(&c, 20).unwrap();
        let used = shares.by_caller();
        let used: Vec<_> = used.iter().map(|(name, used)| (&**name, *used)).collect();
        assert_eq!(used, [("a", 40), ("b", 40), ("c", 20)]);
    }

    #[test]
    fn forgets_callers_that_use_nothing() {
        let (shares, _) = shares(10);
        let a = caller("a");
        shares.reserve(&a, 5).unwrap();
        shares.reserve(&caller("b"), 0).unwrap();
        shares.release(&a, 5);
        assert!(shares.usage().by_caller.is_empty());
        assert_eq!(shares.total(), 0);
    }

    #[test]
    fn the_time_to_retry_follows_the_rate_of_releases() {
        let (shares, clock) = shares(2_000);
        let at = |ms| clock.0.store(ms, Ordering::Relaxed);
        let a = caller("a");
        shares.reserve(&a, 1_000).unwrap();
        // 100 in a second.
        at(1_000);
        shares.release(&a, 100);
        let wait = |amount| {
            shares
                .reserve(&a, amount)
                .unwrap_err()
                .retry_after
                .as_secs()
        };
        // 900 are used and 1,100 are free, so 500 need 800 more.
        assert_eq!(wait(500), 8);
        assert_eq!(wait(101), 1);
        // Nothing is released any more.
        at(41_000);
        assert_eq!(wait(500), 40);
        at(1_001_000);
        assert_eq!(wait(500), 60);
    }

    #[test]
    fn the_time_before_the_first_use_does_not_count() {
        let (shares, clock) = shares(100);
        clock.0.store(1_000_000, Ordering::Relaxed);
        let a = caller("a");
        shares.reserve(&a, 50).unwrap();
        assert_eq!(shares.reserve(&a, 50).unwrap_err().retry_after, MIN_RETRY);
    }

    proptest! {
        /// Whatever some callers use, another one that uses nothing gets a part of what is free,
        /// and the sums are those of the callers.
        #[test]
        fn a_new_caller_always_finds_a_part(
            steps in prop::collection::vec((0_usize..5, 1_usize..200, any::<bool>()), 1..200)
        ) {
            let (shares, _) = shares(1_000);
            let callers = ["a", "b", "c", "d", "e"].map(caller);
            let mut used = [0_usize; 5];
            for (at, amount, releases) in steps {
                if releases {
                    let amount = amount.min(used[at]);
                    shares.release(&callers[at], amount);
                    used[at] -= amount;
                } else if shares.reserve(&callers[at], amount).is_ok() {
                    used[at] += amount;
                }
                let total: usize = used.iter().sum();
                prop_assert_eq!(shares.total(), total);
                // Each caller at most halves what is free when it comes.
                prop_assert!(1_000 - total >= 1_000 / 32);
                let new = caller("new");
                prop_assert!(shares.reserve(&new, 1_000 / 64).is_ok());
                shares.release(&new, 1_000 / 64);
            }
        }
    }
}
