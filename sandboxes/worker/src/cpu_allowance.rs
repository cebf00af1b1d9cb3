//! The processor time that a worker may use for a request.

use std::time::Duration;

use tokio::time::Instant;

/// Shortest time between two readings of a worker's processor time.
const MIN_CHECK: Duration = Duration::from_millis(50);

/// A worker that uses less than `timeout / LEAST_PROGRESS` of processor time while `STALL` times
/// the timeout passes is stalled: it hangs, is stopped, or gets almost no processor time.
const LEAST_PROGRESS: u32 = 16;
const STALL: u32 = 4;

/// Decides when a worker has used its timeout. Load makes work take longer, but not more processor
/// time, so the decision does not depend on load.
pub(crate) struct CpuAllowance {
    timeout: Duration,
    /// Processor time at the last reading.
    used: Duration,
    /// When the worker last made progress, and its processor time then.
    progress: (Instant, Duration),
}

impl CpuAllowance {
    pub(crate) fn new(timeout: Duration, started: Instant) -> Self {
        Self {
            timeout,
            used: Duration::ZERO,
            progress: (started, Duration::ZERO),
        }
    }

    /// How long to wait until the next reading can decide anything.
    pub(crate) fn next_check(&self, now: Instant) -> Duration {
        let until_used = self.timeout.saturating_sub(self.used);
        let stalled = self.progress.0 + STALL * self.timeout;
        let until_stalled = stalled.saturating_duration_since(now);
        until_used.min(until_stalled).max(MIN_CHECK)
    }

    /// Whether the worker has used its timeout, or is stalled. `used` is its processor time since
    /// the start of the request.
    pub(crate) fn is_exceeded(&mut self, used: Duration, now: Instant) -> bool {
        self.used = used;
        if used >= self.timeout {
            return true;
        }
        let (since, before) = self.progress;
        if used.saturating_sub(before) >= self.timeout / LEAST_PROGRESS {
            self.progress = (now, used);
            return false;
        }
        now.saturating_duration_since(since) >= STALL * self.timeout
    }

    /// Does not count a time during which the worker was suspended.
    pub(crate) fn extend(&mut self, suspended: Duration) {
        self.progress.0 += suspended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(16);

    fn seconds(count: f64) -> Duration {
        Duration::from_secs_f64(count)
    }

    #[test]
    fn counts_processor_time() {
        let start = Instant::now();
        let mut allowance = CpuAllowance::new(TIMEOUT, start);
        assert_eq!(allowance.next_check(start), TIMEOUT);
        // It gets an eighth of a processor.
        let mut now = 16;
        while now < 128 {
            let at = start + seconds(f64::from(now));
            assert!(
                !allowance.is_exceeded(seconds(f64::from(now) / 8.0), at),
                "{now} s"
            );
            assert!(allowance.next_check(at) <= TIMEOUT);
            now += 8;
        }
        assert!(allowance.is_exceeded(TIMEOUT, start + seconds(128.0)));
    }

    #[test]
    fn ends_a_stalled_worker() {
        let start = Instant::now();
        let mut allowance = CpuAllowance::new(TIMEOUT, start);
        assert!(!allowance.is_exceeded(seconds(3.0), start + seconds(3.0)));
        assert!(!allowance.is_exceeded(seconds(3.1), start + seconds(66.9)));
        assert!(allowance.is_exceeded(seconds(3.1), start + seconds(67.0)));
    }

    #[test]
    fn a_suspended_worker_is_not_stalled() {
        let start = Instant::now();
        let mut allowance = CpuAllowance::new(TIMEOUT, start);
        allowance.extend(seconds(100.0));
        assert!(!allowance.is_exceeded(seconds(0.1), start + seconds(160.0)));
        assert!(allowance.is_exceeded(seconds(0.1), start + seconds(164.0)));
    }

    #[test]
    fn reads_the_time_rarely() {
        let start = Instant::now();
        let mut allowance = CpuAllowance::new(TIMEOUT, start);
        assert!(!allowance.is_exceeded(seconds(15.999), start + seconds(16.0)));
        assert_eq!(allowance.next_check(start + seconds(16.0)), MIN_CHECK);
    }
}
