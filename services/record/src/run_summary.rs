//! A summary of a training run.

use serde::Serialize;

/// A summary of the grades of a training run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Name of the run.
    pub run: String,
    /// Number of grades.
    pub grades: u64,
    /// Items that were graded.
    pub graded: u64,
    /// Items that were ungradable.
    pub ungradable: u64,
    /// Items that failed.
    pub failed: u64,
    /// Graded items that passed.
    pub passed: u64,
    /// Mean score of graded items; `None` without one.
    pub mean_score: Option<f64>,
    /// Highest step.
    pub last_step: Option<i64>,
    /// Time of the first grade, in microseconds since the Unix epoch.
    pub first_us: i64,
    /// Time of the last grade, in microseconds since the Unix epoch.
    pub last_us: i64,
}
