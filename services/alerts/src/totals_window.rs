//! Differences of the engine's totals over a time.

use std::collections::VecDeque;
use std::time::Duration;

use assay_engine::Totals;

/// Maximum number of totals that are kept.
const MAX_KEPT: usize = 4_096;

/// The totals of the last evaluations.
#[derive(Debug, Default)]
pub(crate) struct TotalsWindow {
    /// With their monotonic times, oldest first. Before the first one everything was zero.
    kept: VecDeque<(Duration, Totals)>,
}

impl TotalsWindow {
    /// Adds the totals at `now` and returns what was counted in the last `window`, or since the
    /// node started if that is shorter.
    pub(crate) fn add(&mut self, now: Duration, totals: Totals, window: Duration) -> Totals {
        if self.kept.is_empty() {
            self.kept.push_back((Duration::ZERO, Totals::default()));
        }
        self.kept.push_back((now, totals));
        // The first one is the newest that is not in the window.
        let is_old = |kept: &VecDeque<(Duration, Totals)>| {
            kept.get(1).is_some_and(|(at, _)| *at + window <= now) || kept.len() > MAX_KEPT
        };
        while is_old(&self.kept) {
            self.kept.pop_front();
        }
        let before = self.kept.front().map(|(_, totals)| *totals);
        totals.since(&before.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_last_minutes_only() {
        let mut window = TotalsWindow::default();
        let mut unrecorded = |minute: u64, unrecorded| {
            let totals = Totals {
                unrecorded,
                ..Totals::default()
            };
            let now = Duration::from_mins(1_000 + minute);
            window.add(now, totals, Duration::from_mins(10)).unrecorded
        };
        assert_eq!(unrecorded(0, 7), 7, "since the start");
        assert_eq!(unrecorded(5, 9), 9);
        assert_eq!(unrecorded(10, 9), 2);
        assert_eq!(unrecorded(15, 9), 0);
    }

    #[test]
    fn keeps_a_bounded_number() {
        let mut window = TotalsWindow::default();
        for second in 0..10_000 {
            let now = Duration::from_secs(second);
            window.add(now, Totals::default(), Duration::from_hours(24));
        }
        assert_eq!(window.kept.len(), MAX_KEPT);
    }
}
