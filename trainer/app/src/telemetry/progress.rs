//! Progress of a run: a bar if stderr is a terminal, else a line every ten seconds.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use assay_core::Clock;
use indicatif::{ProgressBar, ProgressStyle};

/// Interval between lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows the progress of a run on stderr.
pub struct Progress {
    bar: Option<ProgressBar>,
    last_line: Option<Duration>,
    total: u64,
}

impl Progress {
    /// The progress of a run with `total` steps, of which `done` are completed.
    #[must_use]
    pub fn new(total: u64, done: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total).with_position(done);
            if let Ok(style) =
                ProgressStyle::with_template("{bar:30} {human_pos}/{human_len} {msg} eta {eta}")
            {
                bar.set_style(style);
            }
            // The steps before a resume do not count for the estimated time.
            bar.reset_eta();
            bar
        });
        Self {
            bar,
            last_line: None,
            total,
        }
    }

    /// Reports `done` completed steps with a message, for example `reward 0.61`.
    pub fn step(&mut self, done: u64, message: &str, clock: &dyn Clock) {
        if let Some(bar) = &self.bar {
            bar.set_message(message.to_owned());
            bar.set_position(done);
            return;
        }
        let now = clock.monotonic();
        if self
            .last_line
            .is_none_or(|last| now.saturating_sub(last) >= LINE_EVERY)
            || done == self.total
        {
            self.last_line = Some(now);
            // Progress is optional, so a closed stderr is not an error.
            let _ = writeln!(
                std::io::stderr(),
                "step {done} of {}: {message}",
                self.total
            );
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
