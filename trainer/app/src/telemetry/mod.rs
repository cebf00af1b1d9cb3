//! Telemetry of a run: metrics as JSON lines and for TensorBoard, progress on the terminal, and
//! learning curves as SVG. Computes no metrics itself.

mod events;
mod metrics;
pub mod plot;
mod progress;
mod values;

use std::path::Path;

use assay_core::Clock;

pub use self::events::Events;
pub use self::metrics::{Metrics, read};
pub use self::progress::Progress;
pub use values::{TelemetryError, Values};

/// Name of the metrics file in the directory of a run.
pub const METRICS: &str = "metrics.jsonl";

/// Removes the metrics of a run that completed no step.
///
/// # Errors
/// [`TelemetryError::File`].
pub fn remove_metrics(folder: &Path) -> Result<(), TelemetryError> {
    let path = folder.join(METRICS);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TelemetryError::file(&path)(error))
        }
        _ => Ok(()),
    }
}

/// Writes the metrics of a run to all outputs.
pub struct Telemetry {
    metrics: Metrics,
    events: Events,
}

impl Telemetry {
    /// Opens the files of a run in `folder`: `metrics.jsonl` and TensorBoard events. `resumed` is
    /// the last step of the resumed run; entries of later steps are removed or invalidated.
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

    /// Writes the metrics of a step to the files.
    ///
    /// # Errors
    /// [`TelemetryError::File`].
    pub fn write(
        &mut self,
        step: u64,
        values: &Values,
        clock: &dyn Clock,
    ) -> Result<(), TelemetryError> {
        // Times and memory are written only to TensorBoard, because `metrics.jsonl` must be
        // reproducible.
        let is_reproducible = |name: &str| {
            let measured = ["time/", "memory/"];
            !measured.iter().any(|prefix| name.starts_with(prefix))
        };
        let reproducible = values.iter().filter(|(name, _)| is_reproducible(name));
        self.metrics.write(
            step,
            &reproducible
                .map(|(name, value)| (name.clone(), *value))
                .collect(),
        )?;
        self.events.write(step, values, clock)
    }
}
