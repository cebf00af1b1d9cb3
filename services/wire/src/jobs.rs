//! JSON types for jobs.

use std::collections::BTreeMap;

use assay_record::ItemGrade;
use assay_record::job::{FailingShard, Job, JobCounts, JobState, RecentShards};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::replays::{MissingReplay, ReplayBody, ReplaySummary};

/// A job: a data set that is graded in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobBody {
    /// Id of the job, a ULID.
    #[schema(example = "01JC9ZV3W8J3Q4Y5W6X7Y8Z9A0")]
    pub job: String,
    /// What is done with its lines: `grade` if they are items, `replay` if they are ids of grades.
    #[schema(example = "grade")]
    pub kind: String,
    /// `waiting`, `running`, `done` or `cancelled`.
    #[schema(example = "running")]
    pub state: String,
    /// Name of the key that submitted it.
    pub caller: String,
    /// Name of the run.
    pub run: Option<String>,
    /// Step of the run.
    pub step: Option<i64>,
    /// Name of the reward policy of items that have none of their own; null for `default`.
    pub policy: Option<String>,
    /// Fields that a `replay` sets in every task; null if there are none.
    #[serde(default)]
    pub options: Option<serde_json::Map<String, serde_json::Value>>,
    /// Lines that are not blank.
    pub items: u64,
    /// Lines with a result.
    pub finished: u64,
    /// Items with the outcome `graded`.
    pub graded: u64,
    /// Of those, passed.
    pub passed: u64,
    /// Items with the outcome `ungradable`.
    pub ungradable: u64,
    /// Items with the outcome `failed`.
    pub failed: u64,
    /// Lines that are not valid items; of a `replay`, grades that cannot be graded again.
    pub invalid: u64,
    /// Lines of shards that are set aside.
    pub set_aside: u64,
    /// Its shards by state.
    pub shards: ShardCounts,
    /// When it was submitted, in microseconds since the Unix epoch.
    pub submitted_us: i64,
    /// When a node first began to grade one of its shards.
    pub started_us: Option<i64>,
    /// When its last shard was finished, or when it was cancelled.
    pub ended_us: Option<i64>,
    /// Lines finished in a second, over the last minute or, at the end, over the whole job; null if
    /// not known yet.
    pub items_per_second: Option<f64>,
    /// Estimate of the seconds until its end at this rate; null if not known, or if it has ended.
    pub remaining_seconds: Option<f64>,
    /// Shards whose last try failed, at most 100; lists of jobs leave them out.
    #[serde(default)]
    pub failing: Vec<FailingShardBody>,
    /// The verdicts of a `replay` by stored verdict, of the shards that are done; null in lists,
    /// and for other kinds.
    #[serde(default)]
    pub replay: Option<ReplaySummary>,
}

/// How the grades of a replay are graded again.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayJobRequest {
    /// Fields to set in every task, by name; checks are not changed.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub options: BTreeMap<String, Box<RawValue>>,
}

/// Maximum number of failing shards in a [`JobBody`].
pub const MAX_FAILING: u32 = 100;

/// Time over which the rate of a job is measured, in microseconds.
pub const RATE_WINDOW_US: i64 = 60_000_000;

/// Shards of a job by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShardCounts {
    /// Shards that wait.
    pub waiting: u64,
    /// Shards that nodes grade.
    pub running: u64,
    /// Shards that are graded.
    pub done: u64,
    /// Shards that failed too often and are not tried again.
    pub set_aside: u64,
}

/// A shard whose last try failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailingShardBody {
    /// Number of the shard, from 0.
    pub shard: u32,
    /// Whether it is not tried again.
    pub set_aside: bool,
    /// Number of its first line, from 1.
    pub first_line: u64,
    /// Its lines that are not blank.
    pub items: u32,
    /// How often a node began to grade it.
    pub tries: u32,
    /// Why the last try failed.
    pub reason: String,
}

/// What is known of a job besides its row and its counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobDetails {
    /// Fields that a replay sets in every task.
    pub options: Option<serde_json::Map<String, serde_json::Value>>,
    /// What was graded in the last [`RATE_WINDOW_US`].
    pub recent: RecentShards,
    /// Shards whose last try failed.
    pub failing: Vec<FailingShard>,
    /// The verdicts of a replay.
    pub replay: Option<ReplaySummary>,
}

impl JobBody {
    /// The JSON of a job at the time `now_us`.
    #[must_use]
    pub fn new(job: Job, details: JobDetails, now_us: i64) -> Self {
        let JobDetails {
            options,
            recent,
            failing,
            replay,
        } = details;
        let state = job.state();
        let counts = job.counts;
        let finished = counts.finished();
        let ended_us = job.cancelled_us.or(job.finished_us);
        let items_per_second = rate(&counts, recent, ended_us, now_us);
        let left = counts.items.saturating_sub(finished) as f64;
        let remaining = items_per_second.filter(|rate| *rate > 0.0 && !state.is_final());
        Self {
            job: job.id.to_string(),
            kind: job.kind,
            state: state.as_str().to_owned(),
            caller: job.caller,
            run: job.run,
            step: job.step,
            policy: job.policy,
            options,
            items: counts.items,
            finished,
            graded: counts.graded,
            passed: counts.passed,
            ungradable: counts.ungradable,
            failed: counts.failed,
            invalid: counts.invalid,
            set_aside: counts.items_set_aside,
            shards: ShardCounts {
                waiting: counts.waiting,
                running: counts.running,
                done: counts.done,
                set_aside: counts.set_aside,
            },
            submitted_us: job.submitted_us,
            started_us: counts.started_us,
            ended_us,
            items_per_second,
            remaining_seconds: remaining.map(|rate| left / rate),
            failing: failing.into_iter().map(FailingShardBody::from).collect(),
            replay,
        }
    }

    /// Whether its shards are not graded any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        [JobState::Done, JobState::Cancelled]
            .iter()
            .any(|state| state.as_str() == self.state)
    }
}

/// Lines finished in a second.
fn rate(
    counts: &JobCounts,
    recent: RecentShards,
    ended_us: Option<i64>,
    now_us: i64,
) -> Option<f64> {
    let (items, since_us, until_us) = match ended_us {
        Some(ended_us) => (counts.finished(), counts.started_us?, ended_us),
        None => (recent.items, recent.since_us?, now_us),
    };
    let seconds = until_us.saturating_sub(since_us) as f64 / 1e6;
    (seconds > 0.0).then(|| items as f64 / seconds)
}

impl From<FailingShard> for FailingShardBody {
    fn from(shard: FailingShard) -> Self {
        Self {
            shard: shard.no,
            set_aside: shard.set_aside,
            first_line: shard.first_line,
            items: shard.items,
            tries: shard.tries,
            reason: shard.reason,
        }
    }
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobsBody {
    /// The jobs, newest first.
    pub jobs: Vec<JobBody>,
    /// Value of `before` for the next page; null if this is the last one.
    pub next: Option<String>,
}

/// One line of the results of a job.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum JobLine {
    /// The last line. A reply without it is incomplete.
    Last(LastJobLine),
    /// The result of a line of the job. Results are in the order of the lines. One that is not
    /// graded has no `grade`, and its `error` names the line.
    Result(Box<ItemGrade>),
    /// The replay of a grade, in a job of the kind `replay`.
    Replay(Box<ReplayBody>),
    /// A grade that could not be graded again, in a job of the kind `replay`.
    Missing(MissingReplay),
}

/// The last line of the results of a job; the only one with a `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LastJobLine {
    /// The reply failed.
    Error {
        /// The reason.
        error: assay_core::Fault,
    },
    /// The reply is complete.
    Page {
        /// Value of `after` with which the next reply continues; null if all results were sent and
        /// no others will follow.
        next: Option<u32>,
        /// The state of the job: `waiting`, `running`, `done` or `cancelled`.
        state: String,
    },
}

#[cfg(test)]
mod tests {
    use assay_core::BatchId;

    use super::*;

    fn job(counts: JobCounts, finished_us: Option<i64>) -> Job {
        Job {
            id: BatchId::from(7),
            kind: "grade".to_owned(),
            caller: "alice".to_owned(),
            run: None,
            step: None,
            policy: None,
            options: None,
            submitted_us: 0,
            cancelled_us: None,
            finished_us,
            counts,
        }
    }

    #[test]
    fn estimates_the_end_by_the_recent_rate() {
        let counts = JobCounts {
            waiting: 1,
            done: 1,
            items: 300,
            graded: 100,
            started_us: Some(1_000_000),
            ..JobCounts::default()
        };
        let recent = JobDetails {
            recent: RecentShards {
                items: 100,
                since_us: Some(1_000_000),
            },
            ..JobDetails::default()
        };
        let body = JobBody::new(job(counts, None), recent, 3_000_000);
        assert_eq!(body.state, "running");
        assert_eq!(
            (body.items_per_second, body.remaining_seconds),
            (Some(50.0), Some(4.0))
        );
        let done = JobCounts {
            waiting: 0,
            items: 100,
            ..counts
        };
        let none = JobDetails::default();
        let body = JobBody::new(job(done, Some(2_000_000)), none, 9_000_000);
        assert_eq!((&*body.state, body.is_final()), ("done", true));
        assert_eq!(
            (body.items_per_second, body.remaining_seconds),
            (Some(100.0), None)
        );
    }

    #[test]
    fn knows_no_rate_before_anything_is_graded() {
        let counts = JobCounts {
            waiting: 1,
            items: 1,
            ..JobCounts::default()
        };
        let body = JobBody::new(job(counts, None), JobDetails::default(), 9);
        assert_eq!(body.state, "waiting");
        assert_eq!(
            (body.items_per_second, body.remaining_seconds),
            (None, None)
        );
    }
}
