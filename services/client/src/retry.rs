//! The pauses between retries.

use std::time::Duration;

/// Longest pause that a server may request. A minute frees every quota that waiting frees; a longer
/// request is returned to the caller as the error that it came with.
const MAX_REQUESTED: Duration = Duration::from_secs(120);

/// Retries with exponentially growing pauses and random jitter, so that many clients do not retry
/// at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Maximum number of retries of a request.
    pub times: u32,
    /// First pause; each further pause is twice as long.
    pub first: Duration,
    /// Maximum nominal pause.
    pub most: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 6,
            first: Duration::from_millis(200),
            most: Duration::from_secs(20),
        }
    }
}

impl Retry {
    /// Pause after `tries` retries, between half and all of its nominal length, and at least
    /// `retry_after`, which the server requested. `None` after the last retry, or if the server
    /// requested more than two minutes.
    #[must_use]
    pub fn pause(&self, tries: u32, retry_after: Option<Duration>) -> Option<Duration> {
        let requested = retry_after.unwrap_or_default();
        if tries >= self.times || requested > MAX_REQUESTED {
            return None;
        }
        let nominal = self.first.saturating_mul(1 << tries.min(16)).min(self.most);
        let mut byte = [0u8; 1];
        // Without random numbers every pause has half its nominal length.
        let _ = getrandom::fill(&mut byte);
        let jittered = nominal.mul_f64(0.5 + f64::from(byte[0]) / 512.0);
        Some(jittered.max(requested))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_last_retry() {
        let retry = Retry {
            times: 3,
            first: Duration::from_millis(100),
            most: Duration::from_millis(150),
        };
        for (tries, nominal) in [(0, 100), (1, 150), (2, 150)] {
            let pause = retry.pause(tries, None).unwrap();
            assert!(
                pause >= Duration::from_millis(nominal / 2)
                    && pause <= Duration::from_millis(nominal)
            );
        }
        assert_eq!(retry.pause(3, None), None);
    }

    #[test]
    fn pauses_at_least_as_long_as_the_server_requests() {
        assert!(
            Retry::default()
                .pause(0, Some(Duration::from_secs(9)))
                .unwrap()
                >= Duration::from_secs(9)
        );
    }

    #[test]
    fn does_not_wait_for_an_hour() {
        let hour = Duration::from_secs(3600);
        assert_eq!(Retry::default().pause(0, Some(hour)), None);
    }
}
