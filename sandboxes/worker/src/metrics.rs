//! The metrics of worker pools, all described here.

use assay_core::declare_metrics;
use metrics::{counter, gauge};

use crate::Confinement;

declare_metrics! {
    counter ENDED = "assay_sandbox_workers_ended_total" [Count]
        "Workers that ended while their pool was in use, by reason.";
    gauge CONFINED = "assay_sandbox_workers_confined"
        "Whether a kernel mechanism (label `wall`) confines the workers: 1 or 0.";
    counter PREEMPTED = "assay_sandbox_requests_preempted_total" [Count]
        "Running requests whose worker was given to another caller, by effect.";
    gauge WAITING = "assay_sandbox_requests_waiting" "Requests that wait for a worker.";
    gauge SUSPENDED = "assay_sandbox_requests_suspended" "Requests whose worker is stopped.";
}

/// Why workers end.
const REASONS: [&str; 7] = [
    "died",
    "crashed",
    "overran",
    "renewed",
    "tainted",
    "used",
    "preempted",
];

pub(crate) fn describe() {
    describe_all();
    for name in [WAITING, SUSPENDED] {
        gauge!(name).increment(0);
    }
    // Registered before they count, so that the first count is an increase and not a new series.
    for reason in REASONS {
        counter!(ENDED, "reason" => reason).increment(0);
    }
    for effect in ["suspended", "restarted"] {
        counter!(PREEMPTED, "effect" => effect).increment(0);
    }
}

/// Counts a worker that ended or was killed.
pub(crate) fn ended(reason: &'static str) {
    counter!(ENDED, "reason" => reason).increment(1);
}

/// Reports how workers are confined.
pub(crate) fn confined(confinement: Confinement) {
    for (mechanism, is_in_place) in confinement.mechanisms() {
        gauge!(CONFINED, "wall" => mechanism.as_str()).set(f64::from(u8::from(is_in_place)));
    }
}

/// A request was preempted, and is suspended.
pub(crate) fn suspended() {
    counter!(PREEMPTED, "effect" => "suspended").increment(1);
    gauge!(SUSPENDED).increment(1);
}

/// A request was preempted, and will be restarted.
pub(crate) fn restarted() {
    counter!(PREEMPTED, "effect" => "restarted").increment(1);
}

/// A request is no longer suspended.
pub(crate) fn resumed() {
    gauge!(SUSPENDED).decrement(1);
}

/// Counts a request that waits for a worker.
pub(crate) struct Waiting(());

impl Waiting {
    pub(crate) fn count() -> Self {
        gauge!(WAITING).increment(1);
        Self(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        gauge!(WAITING).decrement(1);
    }
}
