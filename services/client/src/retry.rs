//! How long to wait before sending again.

use std::time::Duration;

/// Retries with growing pauses, spread so that many clients do not come back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often a request is sent again at most.
    pub times: u32,
    /// First pause; each further one doubles.
    pub first: Duration,
    /// Longest pause.
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
    /// Pause before try number `tries` + 1, between half and all of its nominal length; the
    /// server's own wish, when it has one, is the least. `None` when tries are used up.
    #[must_use]
    pub fn pause(&self, tries: u32, wish: Option<Duration>) -> Option<Duration> {
        if tries >= self.times {
            return None;
        }
        let nominal = self.first.saturating_mul(1 << tries.min(16)).min(self.most);
        let mut byte = [0u8; 1];
        // Without random numbers every pause is the shortest, which is still a pause.
        let _ = getrandom::fill(&mut byte);
        let spread = nominal.mul_f64(0.5 + f64::from(byte[0]) / 512.0);
        Some(spread.max(wish.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
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
    fn the_server_may_ask_for_more() {
        assert!(
            Retry::default()
                .pause(0, Some(Duration::from_secs(9)))
                .unwrap()
                >= Duration::from_secs(9)
        );
    }
}
