//! Values of a step, and errors of writing them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Why metrics cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A file or directory cannot be accessed.
    #[error("`{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The metrics file of another run exists.
    #[error(
        "`{}` contains the metrics of a run; resume that run, or choose another directory",
        path.display()
    )]
    MetricsExist {
        /// The file.
        path: PathBuf,
    },
    /// A line is not a valid entry.
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
    pub(super) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}

/// The metrics of one step, by name.
pub type Values = BTreeMap<String, f64>;
