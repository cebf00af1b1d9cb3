//! The metrics of jobs.

use assay_core::declare_metrics;
use assay_record::job::{JobKind, ShardOutcome};
use metrics::{counter, gauge};

declare_metrics! {
    gauge OPEN = "assay_jobs_open" [Count]
        "Jobs that are received and have not ended, of all nodes of the database.";
    counter LINES = "assay_job_lines_total" [Count]
        "Lines of jobs that this node finished, by kind and outcome.";
    counter SHARDS = "assay_job_shards_total" [Count]
        "Shards of jobs that this node tried, by kind and result.";
}

/// What became of a shard that was tried.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ShardResult {
    /// It is graded.
    Done,
    /// It waits for a quota, for capacity or for the record.
    Postponed,
    /// It failed and is tried again.
    Failed,
    /// It is not tried again.
    SetAside,
}

impl ShardResult {
    const ALL: [Self; 4] = [Self::Done, Self::Postponed, Self::Failed, Self::SetAside];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Postponed => "postponed",
            Self::Failed => "failed",
            Self::SetAside => "set_aside",
        }
    }
}

/// Describes the metrics and starts them at zero.
pub(crate) fn start() {
    describe_all();
    open(0);
    for kind in JobKind::ALL {
        lines(kind, &ShardOutcome::default());
        for result in ShardResult::ALL {
            shards(kind, result).increment(0);
        }
    }
}

pub(crate) fn open(jobs: usize) {
    gauge!(OPEN).set(jobs as f64);
}

/// Counts a shard that was tried.
pub(crate) fn tried(kind: JobKind, result: ShardResult) {
    shards(kind, result).increment(1);
}

/// Counts the lines of a shard that is graded.
pub(crate) fn lines(kind: JobKind, outcome: &ShardOutcome) {
    for (name, lines) in [
        ("graded", outcome.graded),
        ("ungradable", outcome.ungradable),
        ("failed", outcome.failed),
        ("invalid", outcome.invalid),
    ] {
        counter!(LINES, "kind" => kind.as_str(), "outcome" => name).increment(lines);
    }
}

fn shards(kind: JobKind, result: ShardResult) -> metrics::Counter {
    counter!(SHARDS, "kind" => kind.as_str(), "result" => result.as_str())
}
