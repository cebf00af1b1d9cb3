//! The result of a unit.

use std::time::Duration;

use assay_core::{Outcome, Spec};

/// A graded unit.
pub(crate) struct GradedUnit {
    pub(crate) item: usize,
    pub(crate) part: usize,
    pub(crate) spec: &'static Spec,
    pub(crate) outcome: Outcome,
    pub(crate) cached: bool,
    pub(crate) queue_us: u64,
    pub(crate) grade_us: u64,
    /// What its caller is charged. Work for several units is charged with the first.
    pub(crate) charged: Duration,
    pub(crate) time_us: i64,
}
