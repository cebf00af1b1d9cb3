//! What can be seen of a run: its numbers as lines of JSON and for TensorBoard, how far it is, and
//! curves of several runs as a picture. Owns files and the terminal; computes no number of the
//! training.

mod events;
mod metrics;
pub mod picture;
mod progress;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_core::Clock;

pub use self::events::Events;
pub use self::metrics::{Metrics, read};
pub use self::progress::Progress;

/// Name of the file of numbers in the folder of a run.
pub const METRICS: &str = "metrics.jsonl";

/// The numbers of one step, by name.
pub type Values = BTreeMap<String, f64>;

/// Numbers cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A file or folder does not let itself be used.
    #[error("`{}`: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A new run would go on in the file of another.
    #[error("`{}` holds the numbers of a run; resume that run, or choose another folder", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// A line holds no numbers of a step.
    #[error("`{}` line {line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

impl TelemetryError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}

/// Removes the numbers of a run that never took a step.
///
/// # Errors
/// [`TelemetryError::File`].
pub fn forget(folder: &Path) -> Result<(), TelemetryError> {
    let path = folder.join(METRICS);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TelemetryError::file(&path)(error))
        }
        _ => Ok(()),
    }
}

/// Writes the numbers of a run, a step at a time, to everything that shows them.
pub struct Telemetry {
    metrics: Metrics,
    events: Events,
}

impl Telemetry {
    /// Opens the files of a run in `folder`: `metrics.jsonl` and the events of TensorBoard.
    /// `resumed` is the last step that is kept of an earlier part of the run; what was written of
    /// later ones is cut off, and the events say so.
    ///
    /// # Errors
    /// [`TelemetryError`].
    pub fn open(
        folder: &Path,
        resumed: Option<u64>,
        clock: &dyn Clock,
    ) -> Result<Self, TelemetryError> {
        std::fs::create_dir_all(folder).map_err(TelemetryError::file(folder))?;
        let metrics = Metrics::open(&folder.join(METRICS), resumed)?;
        let events = Events::create(folder, resumed.map(|step| step.saturating_add(1)), clock)?;
        Ok(Self { metrics, events })
    }

    /// Writes the numbers of a step. They are in the files when this returns.
    ///
    /// # Errors
    /// [`TelemetryError::File`].
    pub fn write(
        &mut self,
        step: u64,
        values: &Values,
        clock: &dyn Clock,
    ) -> Result<(), TelemetryError> {
        // Times differ from run to run: they are shown, and are no part of what a run is.
        let lasting = values.iter().filter(|(name, _)| !name.starts_with("time/"));
        self.metrics.write(
            step,
            &lasting
                .map(|(name, value)| (name.clone(), *value))
                .collect(),
        )?;
        self.events.write(step, values, clock)
    }
}
