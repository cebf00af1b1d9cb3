//! The storage that the record uses, and what retention deletes of it. Batches are deleted as a
//! whole: their grades have the same run, step, caller and about the same time. Channels are
//! deleted by prunes of their own, which delete no grades.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which batches to delete, or which channels. A batch must match all conditions; a filter without
/// a condition matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PruneFilter {
    /// Only these runs; all if empty. Their totals and charts are deleted as well, unless only
    /// bodies are.
    pub runs: Vec<String>,
    /// None of these runs.
    pub keep_runs: Vec<String>,
    /// Only batches of this caller.
    pub caller: Option<String>,
    /// Only batches whose last grade is older, in microseconds since the Unix epoch.
    pub before_us: Option<i64>,
    /// Delete only tasks, prompts and completions.
    pub bodies_only: bool,
    /// Delete these channels and no batches.
    pub channels: Option<ChannelFilter>,
}

/// Which channels to delete, with their counts and the results of their checks. A channel must
/// match all conditions. One with a calibration, which an operator measured, is deleted only by its
/// name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelFilter {
    /// Only these channels, such as `math/default`, with their calibrations; all if empty.
    pub names: Vec<String>,
    /// Only channels whose names start with this.
    pub prefix: Option<String>,
    /// Only channels that this caller used first.
    pub caller: Option<String>,
    /// Only channels whose last grade is older, in microseconds since the Unix epoch.
    pub unused_since_us: Option<i64>,
}

impl PruneFilter {
    /// Whether the filter has a condition.
    #[must_use]
    pub fn has_condition(&self) -> bool {
        !self.runs.is_empty()
            || !self.keep_runs.is_empty()
            || self.caller.is_some()
            || self.before_us.is_some()
            || self.channels.is_some()
    }

    /// Whether whole runs are deleted, with their totals and charts.
    #[must_use]
    pub fn deletes_runs(&self) -> bool {
        !self.bodies_only
            && self.caller.is_none()
            && self.before_us.is_none()
            && self.channels.is_none()
            && self.has_condition()
    }
}

/// What a prune deletes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PruneEstimateBody)]
pub struct PruneEstimate {
    /// Number of batches.
    pub batches: u64,
    /// Number of grades; 0 if only bodies are deleted.
    pub grades: u64,
    /// Bytes of the values of these grades.
    pub grade_bytes: u64,
    /// Bytes of bodies, compressed. Those that other batches use are not deleted.
    pub body_bytes: u64,
    /// Batches of an earlier release, of which grades and bytes are not included.
    pub uncounted_batches: u64,
    /// Runs to keep that do not exist. If their names are misspelled, the runs that were meant
    /// would be deleted.
    #[serde(skip)]
    pub unknown_runs: Vec<String>,
    /// Number of channels.
    #[serde(default)]
    pub channels: u64,
    /// Number of channels that match and are kept because they have a calibration.
    #[serde(default)]
    pub calibrated_channels: u64,
}

impl PruneEstimate {
    /// Returns the estimate, or why the prune should not start.
    ///
    /// # Errors
    /// If a run to keep does not exist.
    pub fn check(self) -> Result<Self, String> {
        match self.unknown_runs.first() {
            Some(run) => Err(format!(
                "no run `{run}` exists that could be kept; `assay runs` lists the runs"
            )),
            None => Ok(self),
        }
    }
}

/// Whether a prune is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PruneState {
    /// It waits for another one, or is running.
    Running,
    /// It has finished.
    Done,
    /// It failed; what was not deleted is deleted by the next prune with the same filter.
    Failed,
    /// The node was shut down.
    Stopped,
}

/// The progress of a prune.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PruneProgress {
    /// Number of the prune since the start of the node.
    pub number: u64,
    /// What it deletes.
    pub filter: PruneFilter,
    /// Whether the limits of the configuration are its reason, and not a caller.
    pub automatic: bool,
    /// State.
    pub state: PruneState,
    /// What it does at the moment.
    pub phase: String,
    /// When it was started, in microseconds since the Unix epoch.
    pub started_us: i64,
    /// When it ended.
    pub ended_us: Option<i64>,
    /// Batches of which grades or bodies were deleted.
    pub batches: u64,
    /// Grades that were deleted.
    pub grades: u64,
    /// Bytes of compressed bodies that were deleted.
    pub body_bytes: u64,
    /// Runs that were deleted with their totals.
    pub runs: u64,
    /// Channels that were deleted.
    pub channels: u64,
    /// Why it failed.
    pub error: Option<String>,
}

/// Storage used by one run and caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = HoldingBody)]
pub struct Holding {
    /// Name of the run; null for batches without one.
    pub run: Option<String>,
    /// The caller.
    pub caller: String,
    /// Number of batches.
    pub batches: u64,
    /// Number of grades.
    pub grades: u64,
    /// Bytes of the values of these grades, without indexes.
    pub grade_bytes: u64,
    /// Bytes of tasks, prompts and completions, compressed. One that several batches use counts for
    /// the first.
    pub body_bytes: u64,
}

/// Replies of one caller that are stored under idempotency keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReplyHoldingBody)]
pub struct ReplyHolding {
    /// The caller.
    pub caller: String,
    /// Number of replies.
    pub replies: u64,
    /// Their bytes, compressed.
    pub bytes: u64,
}

/// Limits of the record. 0 and empty lists are no limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Age after which bodies are deleted, in microseconds; 0 for never.
    pub body_age_us: i64,
    /// Age after which grades are deleted, in microseconds; 0 for never.
    pub grade_age_us: i64,
    /// Bytes of data in the database above which the oldest are deleted; 0 for no limit.
    pub max_bytes: u64,
    /// Runs of which nothing is deleted.
    pub keep_runs: Vec<String>,
    /// Age of the last grade of a channel after which the channel is deleted, in microseconds; 0
    /// for never.
    pub channel_age_us: i64,
}

impl RetentionLimits {
    /// Whether there is no limit.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.body_age_us == 0
            && self.grade_age_us == 0
            && self.max_bytes == 0
            && self.channel_age_us == 0
    }
}

/// Size and contents of the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageReport {
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of pages within it that are free.
    pub free_bytes: u64,
    /// Bytes of policies, pairs and reports, which are never deleted.
    pub permanent_bytes: u64,
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// Bytes of the index of texts, with its log; `None` if texts are not searched.
    pub text_bytes: Option<u64>,
    /// Bytes of the spool, with entries that were set aside.
    pub spool_bytes: u64,
    /// Whether the file becomes smaller when something is deleted.
    pub shrinks: bool,
    /// Sums over all holdings: batches, grades and bytes.
    pub total: Totals,
    /// The largest holdings.
    pub holdings: Vec<Holding>,
    /// Replies by caller, the largest first.
    pub replies: Vec<ReplyHolding>,
    /// Batches of an earlier release that are not counted yet.
    pub uncounted_batches: u64,
    /// Time of the oldest batch, in microseconds since the Unix epoch.
    pub oldest_us: Option<i64>,
    /// Time of the oldest batch that has bodies.
    pub oldest_bodies_us: Option<i64>,
    /// The limits.
    pub limits: RetentionLimits,
    /// When the limits are checked next.
    pub next_check_us: Option<i64>,
    /// The current prune, or the last one.
    pub prune: Option<PruneProgress>,
}

impl StorageReport {
    /// Bytes that count towards the limit on the size: used pages of the database, without what is
    /// never deleted, which would otherwise displace all grades.
    #[must_use]
    pub fn limited_bytes(&self) -> u64 {
        let used = self.file_bytes.saturating_sub(self.free_bytes);
        used.saturating_sub(self.permanent_bytes)
    }
}

/// Sums over holdings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Batches.
    pub batches: u64,
    /// Grades.
    pub grades: u64,
    /// Bytes of the values of these grades.
    pub grade_bytes: u64,
    /// Bytes of compressed bodies.
    pub body_bytes: u64,
    /// Pairs of run and caller.
    pub holdings: u64,
}
