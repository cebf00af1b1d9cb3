//! What items cost.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Sums over the costs of grades.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CostSumsBody)]
pub struct Cost {
    /// Number of grades.
    pub grades: u64,
    /// Time of processors and sandbox workers that was charged, in microseconds.
    pub cpu_us: u64,
    /// Time of grading, in microseconds.
    pub grade_us: u64,
    /// Time in the queue, in microseconds.
    pub queue_us: u64,
    /// Deterministic cost in the unit of the grader.
    pub work: u64,
    /// Bytes of completions and of the grades as JSON, before compression.
    pub bytes: u64,
}

impl Cost {
    /// Adds other costs.
    pub fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.grades, other.grades),
            (&mut self.cpu_us, other.cpu_us),
            (&mut self.grade_us, other.grade_us),
            (&mut self.queue_us, other.queue_us),
            (&mut self.work, other.work),
            (&mut self.bytes, other.bytes),
        ];
        for (sum, number) in sums {
            *sum = sum.saturating_add(number);
        }
    }
}

/// What costs are summed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostKey {
    /// The run; null for items without one.
    Run,
    /// The caller.
    Caller,
    /// The grader.
    Grader,
}

impl CostKey {
    /// Every key.
    pub const ALL: &'static [Self] = &[Self::Run, Self::Caller, Self::Grader];

    /// Its name in requests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Caller => "caller",
            Self::Grader => "grader",
        }
    }
}

/// Which costs are summed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostFilter {
    /// Exact name of the run.
    pub run: Option<String>,
    /// Exact name of the caller.
    pub caller: Option<String>,
    /// Exact name of the grader.
    pub grader: Option<String>,
}

/// The costs of a run, caller or grader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CostBody)]
pub struct CostRow {
    /// The run, caller or grader; null for items without a run.
    pub name: Option<String>,
    /// Its costs.
    #[serde(flatten)]
    pub cost: Cost,
}
