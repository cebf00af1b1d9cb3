//! The sizes of steps, and the pauses between them.

use std::time::Duration;

/// Fewest rows or pages of a step, and those of the first one. On a busy machine, fewer would not
/// make a step much shorter: half of its duration does not depend on them.
const MIN: u32 = 512;

/// Most rows or pages of a step.
const MAX: u32 = 1 << 16;

/// Steps become smaller above this duration, and larger below half of it. New entries wait for a
/// step before they are applied; replies do not wait for that.
const TARGET: Duration = Duration::from_millis(50);

/// Pause after a step while entries arrive, as a multiple of its duration: deletion takes half of
/// the time.
const PAUSE_FACTOR: u32 = 1;

/// Shortest and longest pause after a step.
const MIN_PAUSE: Duration = Duration::from_millis(1);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Longest time that deletion waits for the writer after a step.
pub(super) const MAX_YIELD: Duration = Duration::from_secs(1);

/// The size of the next step of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    amount: u32,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { amount: MIN }
    }

    /// Rows or pages of the next step.
    pub(crate) fn amount(self) -> u32 {
        self.amount
    }

    /// Adapts to the duration of a step.
    pub(crate) fn adapt(&mut self, took: Duration) {
        if took > TARGET {
            self.amount = (self.amount / 2).max(MIN);
        } else if took < TARGET / 2 {
            self.amount = (self.amount * 2).min(MAX);
        }
    }
}

/// The pause after a step that took this long.
pub(crate) fn pause(took: Duration, entries_arrive: bool) -> Duration {
    if entries_arrive {
        (took * PAUSE_FACTOR).clamp(MIN_PAUSE, MAX_PAUSE)
    } else {
        MIN_PAUSE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_approach_their_duration() {
        // A step that takes 10 µs for each row, and one that takes 10 ms.
        for (row, least, most) in [(10, 2_500, 5_000), (10_000, MIN, MIN)] {
            let mut pace = Pace::new();
            for _ in 0..20 {
                pace.adapt(Duration::from_micros(row) * pace.amount());
            }
            assert!((least..=most).contains(&pace.amount()), "{pace:?}");
        }
        let mut pace = Pace::new();
        for _ in 0..100 {
            pace.adapt(Duration::ZERO);
        }
        assert_eq!(pace.amount(), MAX);
    }

    #[test]
    fn pauses_are_long_only_while_entries_arrive() {
        let took = Duration::from_millis(30);
        assert_eq!(pause(took, true), took);
        assert_eq!(pause(took, false), MIN_PAUSE);
        assert_eq!(pause(Duration::from_secs(60), true), MAX_PAUSE);
    }
}
