//! A summary of a training run.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One training run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = RunBody)]
pub struct RunSummary {
    /// Name of the run.
    pub run: String,
    /// Number of grades.
    pub grades: u64,
    /// Of those, graded.
    pub graded: u64,
    /// Of those, ungradable.
    pub ungradable: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Of the graded items, passed after appeals.
    pub passed: u64,
    /// Mean score of the graded items.
    pub mean_score: Option<f64>,
    /// Mean reward of the grades that have one.
    #[serde(default)]
    pub mean_reward: Option<f64>,
    /// Highest step.
    pub last_step: Option<i64>,
    /// Time of the first grade, in microseconds since the Unix epoch.
    pub first_us: i64,
    /// Time of the last grade, in microseconds since the Unix epoch.
    pub last_us: i64,
    /// Tags that operators gave the run.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Note of operators; empty without one.
    #[serde(default)]
    pub note: String,
    /// Whether operators archived the run, so that lists leave it out.
    #[serde(default)]
    pub archived: bool,
}
