//! Progress of long work: a bar if stderr is a terminal, otherwise a line every ten seconds.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use assay_core::{Clock, SystemClock};
use indicatif::{ProgressBar, ProgressStyle};

/// Interval between lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    clock: SystemClock,
    last_line: Duration,
    done: u64,
    total: Option<u64>,
    unit: &'static str,
}

impl Progress {
    /// Shows progress over `total` steps; `None` if their number is not known.
    pub(crate) fn new(total: Option<u64>, unit: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = if total.is_some() {
                "{bar:30} {human_pos}/{human_len} {msg} {per_sec} eta {eta}"
            } else {
                "{spinner} {human_pos} {msg} {per_sec}"
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.with_message(unit)
        });
        Self {
            bar,
            clock: SystemClock::new(),
            last_line: Duration::ZERO,
            done: 0,
            total,
            unit,
        }
    }

    /// Reports `more` completed steps.
    pub(crate) fn advance(&mut self, more: u64) {
        self.done += more;
        if let Some(bar) = &self.bar {
            bar.inc(more);
            return;
        }
        let now = self.clock.monotonic();
        if now.saturating_sub(self.last_line) >= LINE_EVERY {
            self.last_line = now;
            let of = self
                .total
                .map_or_else(String::new, |total| format!(" of {total}"));
            // Progress is optional, so a closed stderr is not an error.
            let _ = writeln!(std::io::stderr(), "{}{of} {}", self.done, self.unit);
        }
    }

    /// Clears the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
