//! Jobs: data sets that nodes grade in shards, in the background.

use assay_core::{BatchId, Hash};

/// What is done with the lines of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// They are items, which are graded and recorded.
    Grade,
    /// They are ids of grades, which are graded again and compared.
    Replay,
}

impl JobKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Grade, Self::Replay];

    /// Its name in JSON and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Grade => "grade",
            Self::Replay => "replay",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A request for a job whose shards are being received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Id of the job.
    pub id: BatchId,
    /// What is done with its lines.
    pub kind: JobKind,
    /// Name of the caller.
    pub caller: String,
    /// Whose share of a node the job uses.
    pub share: String,
    /// Name of the run, as recorded.
    pub run: Option<String>,
    /// Step of the run.
    pub step: Option<i64>,
    /// Name of the reward policy of items that have none of their own.
    pub policy: Option<String>,
    /// The idempotency key of the request.
    pub key: Option<String>,
    /// What applies to all lines, a JSON object.
    pub options: Option<String>,
}

/// The request with an idempotency key for which a job exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyedJob {
    /// Id of the job.
    pub id: BatchId,
    /// Hash of the request; `None` while it is received.
    pub request: Option<Hash>,
}

/// Consecutive lines of a job that are graded as one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewShard {
    /// Number in the job, from 0.
    pub no: u32,
    /// Number of its first line in the request, from 1.
    pub first_line: u64,
    /// Number of lines that are not blank.
    pub items: u32,
    /// The lines.
    pub content: Vec<u8>,
}

/// A job that was received and is neither finished nor cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenJob {
    /// Id of the job.
    pub id: BatchId,
    /// What is done with its lines.
    pub kind: JobKind,
    /// Name of its caller.
    pub caller: String,
    /// Whose share of a node it uses.
    pub share: String,
    /// Name of its run, as recorded.
    pub run: Option<String>,
    /// Step of the run.
    pub step: Option<i64>,
    /// Name of the reward policy of items that have none of their own.
    pub policy: Option<String>,
    /// What applies to all lines, a JSON object.
    pub options: Option<String>,
}

/// A shard that this node grades, until its lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedShard {
    /// Number in the job, from 0.
    pub no: u32,
    /// Number of its first line in the request, from 1.
    pub first_line: u64,
    /// Number of lines that are not blank.
    pub items: u32,
    /// The id of its batch, the same in every try.
    pub batch: BatchId,
    /// How often a node began to grade it, with this time.
    pub tries: u32,
    /// Why the last try failed, if a node could say so.
    pub reason: Option<String>,
    /// The lines.
    pub content: Vec<u8>,
}

/// What became of the lines of a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardOutcome {
    /// Items with the outcome `graded`.
    pub graded: u64,
    /// Of those, passed.
    pub passed: u64,
    /// Items with the outcome `ungradable`.
    pub ungradable: u64,
    /// Items with the outcome `failed`.
    pub failed: u64,
    /// Lines that are not valid items.
    pub invalid: u64,
    /// Why those lines are invalid, as JSON; `None` if there are none.
    pub problems: Option<String>,
    /// What the lines have in common, a JSON object.
    pub summary: Option<String>,
    /// The results as JSON lines; `None` if they are read from recorded grades.
    pub results: Option<Vec<u8>>,
}

/// The state of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardState {
    /// A node may begin to grade it.
    Waiting,
    /// A node grades it, or ended while it did.
    Running,
    /// It is graded.
    Done,
    /// It failed too often.
    SetAside,
}

impl ShardState {
    pub(crate) const fn number(self) -> i64 {
        match self {
            Self::Waiting => 0,
            Self::Running => 1,
            Self::Done => 2,
            Self::SetAside => 3,
        }
    }

    pub(crate) const fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Waiting),
            1 => Some(Self::Running),
            2 => Some(Self::Done),
            3 => Some(Self::SetAside),
            _ => None,
        }
    }
}

/// A shard, as its results are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultShard {
    /// Number in the job, from 0.
    pub no: u32,
    /// Its state.
    pub state: ShardState,
    /// Number of its first line in the request, from 1.
    pub first_line: u64,
    /// Number of lines that are not blank.
    pub items: u32,
    /// Its batch; `None` if no node began to grade it.
    pub batch: Option<BatchId>,
    /// Why lines are invalid, as JSON; `None` if all are valid.
    pub problems: Option<String>,
    /// Why it is set aside.
    pub reason: Option<String>,
    /// The lines if it is set aside; its results if they are stored.
    pub content: Option<Vec<u8>>,
}

/// A shard whose last try failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingShard {
    /// Number in the job, from 0.
    pub no: u32,
    /// Whether it is not tried again.
    pub set_aside: bool,
    /// Number of its first line in the request, from 1.
    pub first_line: u64,
    /// Number of lines that are not blank.
    pub items: u32,
    /// How often a node began to grade it.
    pub tries: u32,
    /// Why the last try failed.
    pub reason: String,
}

/// The number of shards in each state, and of their lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Shards that wait.
    pub waiting: u64,
    /// Shards that nodes grade.
    pub running: u64,
    /// Shards that are graded.
    pub done: u64,
    /// Shards that failed too often.
    pub set_aside: u64,
    /// Lines that are not blank, of all shards.
    pub items: u64,
    /// Lines of shards that are set aside.
    pub items_set_aside: u64,
    /// Items with the outcome `graded`.
    pub graded: u64,
    /// Of those, passed.
    pub passed: u64,
    /// Items with the outcome `ungradable`.
    pub ungradable: u64,
    /// Items with the outcome `failed`.
    pub failed: u64,
    /// Lines that are not valid items.
    pub invalid: u64,
    /// When a node first began to grade a shard, of those last begun, in microseconds since the
    /// Unix epoch.
    pub started_us: Option<i64>,
}

impl JobCounts {
    /// Lines with a result.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.graded + self.ungradable + self.failed + self.invalid + self.items_set_aside
    }
}

/// What was graded of a job in a recent time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecentShards {
    /// Lines of the shards that were finished.
    pub items: u64,
    /// When a node began to grade the first of them; `None` if there are none.
    pub since_us: Option<i64>,
}

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// No node has begun to grade a shard.
    Waiting,
    /// Nodes grade its shards.
    Running,
    /// Every line has a result.
    Done,
    /// It was cancelled.
    Cancelled,
}

impl JobState {
    /// Its name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether its shards are not graded any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }
}

/// A job that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Id of the job.
    pub id: BatchId,
    /// What is done with its lines: the name of a [`JobKind`], possibly of a later release.
    pub kind: String,
    /// Name of its caller.
    pub caller: String,
    /// Name of its run, as its reader sees it.
    pub run: Option<String>,
    /// Step of the run.
    pub step: Option<i64>,
    /// Name of the reward policy of items that have none of their own.
    pub policy: Option<String>,
    /// What applies to all lines, a JSON object.
    pub options: Option<String>,
    /// When it was submitted, in microseconds since the Unix epoch.
    pub submitted_us: i64,
    /// When it was cancelled.
    pub cancelled_us: Option<i64>,
    /// When its last shard was finished.
    pub finished_us: Option<i64>,
    /// Its shards and lines.
    pub counts: JobCounts,
}

impl Job {
    /// What is done with its lines; `None` if only a later release knows it.
    #[must_use]
    pub fn kind(&self) -> Option<JobKind> {
        JobKind::from_name(&self.kind)
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> JobState {
        if self.cancelled_us.is_some() {
            JobState::Cancelled
        } else if self.finished_us.is_some() {
            JobState::Done
        } else if self.counts.started_us.is_some() {
            JobState::Running
        } else {
            JobState::Waiting
        }
    }
}

/// The open jobs of a caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobUse {
    /// Jobs that are received, wait or run.
    pub jobs: u64,
    /// Bytes of their lines that are not graded yet.
    pub bytes: u64,
}
