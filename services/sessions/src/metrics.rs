//! The metrics of sessions.

use assay_core::declare_metrics;
use assay_wire::sessions::{CallOutcome, Restored};
use metrics::{counter, gauge};

declare_metrics! {
    gauge OPEN = "assay_sessions_open" [Count] "Open sessions.";
    gauge STATES = "assay_session_states" [Count]
        "Different states of sessions, by place: memory, or a file only.";
    gauge STATE_BYTES = "assay_session_state_bytes" [Bytes]
        "Bytes of the states of sessions, by place: memory, or files.";
    counter CALLS = "assay_session_calls_total" [Count] "Calls of sessions, by outcome.";
    counter RESTORED = "assay_sessions_restored_total" [Count]
        "Sessions restored after a restart or from damaged files, by how.";
    counter ENDED = "assay_sessions_ended_total" [Count] "Sessions that ended, by reason.";
}

/// Why a session ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EndReason {
    /// Its caller ended it.
    Deleted,
    /// It had no call for too long.
    Expired,
}

impl EndReason {
    const ALL: [Self; 2] = [Self::Deleted, Self::Expired];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Expired => "expired",
        }
    }
}

/// The outcome of a call that the service failed to run.
const FAILED: &str = "failed";

/// How a session is restored if its calls ran with other outputs.
const LOST: &str = "lost";

/// Describes the metrics and starts them at zero.
pub(crate) fn start() {
    describe_all();
    for outcome in CallOutcome::ALL.map(CallOutcome::as_str) {
        counter!(CALLS, "outcome" => outcome).increment(0);
    }
    counter!(CALLS, "outcome" => FAILED).increment(0);
    for how in [Restored::Frozen, Restored::Replayed].map(Restored::as_str) {
        counter!(RESTORED, "how" => how).increment(0);
    }
    counter!(RESTORED, "how" => LOST).increment(0);
    for reason in EndReason::ALL {
        counter!(ENDED, "reason" => reason.as_str()).increment(0);
    }
}

pub(crate) fn open(sessions: usize) {
    gauge!(OPEN).set(sessions as f64);
}

/// Numbers and bytes of states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StateCounts {
    pub(crate) in_memory: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) only_in_files: usize,
    pub(crate) file_bytes: u64,
}

pub(crate) fn states(counts: StateCounts) {
    gauge!(STATES, "place" => "memory").set(counts.in_memory as f64);
    gauge!(STATES, "place" => "file").set(counts.only_in_files as f64);
    gauge!(STATE_BYTES, "place" => "memory").set(counts.memory_bytes as f64);
    gauge!(STATE_BYTES, "place" => "file").set(counts.file_bytes as f64);
}

pub(crate) fn called(outcome: CallOutcome) {
    counter!(CALLS, "outcome" => outcome.as_str()).increment(1);
}

pub(crate) fn call_failed() {
    counter!(CALLS, "outcome" => FAILED).increment(1);
}

pub(crate) fn restored(how: Restored) {
    counter!(RESTORED, "how" => how.as_str()).increment(1);
}

pub(crate) fn lost() {
    counter!(RESTORED, "how" => LOST).increment(1);
}

pub(crate) fn ended(reason: EndReason) {
    counter!(ENDED, "reason" => reason.as_str()).increment(1);
}
