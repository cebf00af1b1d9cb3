//! Progress of compiling packaged images: a line with the elapsed time on a terminal. Otherwise it
//! is logged.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use assay_node::sandboxes::{ImageProgress, Sandboxes};
use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal;

/// Interval between two updates of the elapsed time.
const TICK: Duration = Duration::from_millis(100);

/// Shows the progress on standard error if it is a terminal.
pub(crate) fn show(sandboxes: &Sandboxes) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    // At most one bar at a time: images are rarely compiled at once, and the last one is shown.
    let shown: Mutex<Option<ProgressBar>> = Mutex::new(None);
    sandboxes.observe_images(Box::new(move |image, progress| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = shown.take() {
            bar.finish_and_clear();
        }
        match progress {
            ImageProgress::Compiling => {
                *shown = Some(bar(format!(
                    "compiling image `{image}`, which is done once"
                )));
            }
            ImageProgress::Waiting => {
                *shown = Some(bar(format!(
                    "waiting for another process that compiles image `{image}`"
                )));
            }
            ImageProgress::Compiled(time) => {
                // If stderr is closed, there is no one to tell.
                let _ = writeln!(
                    terminal::stderr(),
                    "compiled image `{image}` in {:.1} s",
                    time.as_secs_f32()
                );
            }
            ImageProgress::Found | ImageProgress::Failed => {}
        }
    }));
}

fn bar(message: String) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar.with_message(message)
}
