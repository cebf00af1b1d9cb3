//! The metrics of worker pools, all described here.

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

use crate::Confinement;

const ENDED: &str = "assay_sandbox_workers_ended_total";
const CONFINED: &str = "assay_sandbox_workers_confined";

/// Names of all metrics of the pools.
pub const NAMES: &[&str] = &[ENDED, CONFINED];

pub(crate) fn describe() {
    describe_counter!(
        ENDED,
        Unit::Count,
        "Workers that ended while their pool was in use, by reason."
    );
    describe_gauge!(
        CONFINED,
        "Whether a kernel mechanism (label `wall`) confines the workers: 1 or 0."
    );
}

/// Counts a worker that ended or was killed.
pub(crate) fn ended(reason: &'static str) {
    counter!(ENDED, "reason" => reason).increment(1);
}

/// Reports how workers are confined.
pub(crate) fn confined(confinement: Confinement) {
    for (wall, is_in_place) in confinement.walls() {
        gauge!(CONFINED, "wall" => wall.as_str()).set(f64::from(u8::from(is_in_place)));
    }
}
