//! JSON types for the storage that the record uses, and for prunes.

use assay_record::storage::{
    ChannelFilter, Holding, PruneEstimate, PruneFilter, PruneProgress, PruneState, ReplyHolding,
    RetentionLimits, StorageReport,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Size and contents of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StorageBody {
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of the file that are free and are used again.
    pub free_bytes: u64,
    /// Bytes of policies, preference pairs and reports of dataset checks. They are never deleted
    /// and do not count towards the limit on the size.
    pub permanent_bytes: u64,
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// Bytes of the spool.
    pub spool_bytes: u64,
    /// Bytes of the index of texts, with its log; null if texts are not searched. They do not count
    /// towards the limit on the size.
    #[serde(default)]
    pub text_bytes: Option<u64>,
    /// Whether the file becomes smaller when something is deleted.
    pub shrinks: bool,
    /// Number of stored batches.
    pub batches: u64,
    /// Number of stored grades.
    pub grades: u64,
    /// Bytes of the values of the grades, without indexes.
    pub grade_bytes: u64,
    /// Bytes of tasks, prompts and completions, compressed.
    pub body_bytes: u64,
    /// Number of pairs of a run and a caller.
    pub holdings_count: u64,
    /// The largest of them, at most 1,000.
    pub holdings: Vec<Holding>,
    /// Replies that are stored for a day under idempotency keys, by caller.
    pub replies: Vec<ReplyHolding>,
    /// Batches of an earlier release that are not included in the numbers yet; the next prune
    /// counts them.
    pub uncounted_batches: u64,
    /// Time of the oldest batch, in microseconds since the Unix epoch.
    pub oldest_us: Option<i64>,
    /// Time of the oldest batch whose bodies are stored.
    pub oldest_bodies_us: Option<i64>,
    /// The limits of the configuration.
    pub limits: LimitsBody,
    /// When the limits are checked next, in microseconds since the Unix epoch; null without limits.
    pub next_check_us: Option<i64>,
    /// The prune that is running, or the last one.
    pub prune: Option<PruneBody>,
}

/// Limits of the record; null is no limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitsBody {
    /// Age in microseconds after which bodies are deleted.
    pub body_age_us: Option<i64>,
    /// Age in microseconds after which grades are deleted.
    pub grade_age_us: Option<i64>,
    /// Bytes of data above which the oldest are deleted.
    pub max_bytes: Option<u64>,
    /// Runs of which nothing is deleted.
    pub keep_runs: Vec<String>,
    /// Age in microseconds of the last grade of a channel after which the channel is deleted.
    #[serde(default)]
    pub channel_age_us: Option<i64>,
}

/// What to delete: all batches that match every condition, or, with a condition on channels, all
/// channels that match every condition. A prune of channels deletes no grades.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PruneRequest {
    /// Only these runs. If they are deleted as a whole, their totals and charts are deleted too.
    pub runs: Vec<String>,
    /// None of these runs.
    pub keep_runs: Vec<String>,
    /// Only batches of this caller, or only channels that this caller used first.
    pub caller: Option<String>,
    /// Only batches whose last grade is older, in microseconds since the Unix epoch.
    pub before_us: Option<i64>,
    /// Delete tasks, prompts and completions, and keep the grades.
    pub bodies_only: bool,
    /// Only these channels, such as `math/default`, with their calibrations.
    pub channels: Vec<String>,
    /// Only channels whose names start with this and that have no calibration.
    pub channel_prefix: Option<String>,
    /// Only channels whose last grade is older, in microseconds since the Unix epoch, and that have
    /// no calibration unless they are named.
    pub channels_unused_since_us: Option<i64>,
    /// Delete nothing and return what would be deleted.
    pub dry_run: bool,
}

/// Maximum number of names in a list of a request.
const MAX_NAMES: usize = 1_000;

impl PruneRequest {
    /// The filter.
    ///
    /// # Errors
    /// The pointer of an invalid field, and the reason.
    pub fn filter(self) -> Result<PruneFilter, (String, String)> {
        for (field, names) in [
            ("runs", &self.runs),
            ("keep_runs", &self.keep_runs),
            ("channels", &self.channels),
        ] {
            if names.len() > MAX_NAMES {
                let reason = format!("at most {MAX_NAMES} names are allowed: {}", names.len());
                return Err((format!("/{field}"), reason));
            }
        }
        let prunes_channels = !self.channels.is_empty()
            || self.channel_prefix.is_some()
            || self.channels_unused_since_us.is_some();
        if prunes_channels {
            return self.channel_filter();
        }
        let filter = PruneFilter {
            runs: self.runs,
            keep_runs: self.keep_runs,
            caller: self.caller,
            before_us: self.before_us,
            bodies_only: self.bodies_only,
            channels: None,
        };
        if !filter.has_condition() {
            let reason = "a prune needs a condition: `runs`, `keep_runs`, `caller`, `before_us`, \
                          `channels`, `channel_prefix` or `channels_unused_since_us`";
            return Err((String::new(), reason.to_owned()));
        }
        Ok(filter)
    }

    /// The filter of a prune of channels.
    fn channel_filter(self) -> Result<PruneFilter, (String, String)> {
        let of_batches = [
            ("runs", !self.runs.is_empty()),
            ("keep_runs", !self.keep_runs.is_empty()),
            ("before_us", self.before_us.is_some()),
            ("bodies_only", self.bodies_only),
        ];
        if let Some((field, _)) = of_batches.iter().find(|(_, is_set)| *is_set) {
            let reason = format!(
                "a prune deletes either channels or batches, and `{field}` is a condition of \
                 batches; send two requests"
            );
            return Err((format!("/{field}"), reason));
        }
        let filter = ChannelFilter {
            names: self.channels,
            prefix: self.channel_prefix,
            caller: self.caller,
            unused_since_us: self.channels_unused_since_us,
        };
        let is_everything = filter.names.is_empty()
            && filter.prefix.as_deref().unwrap_or_default().is_empty()
            && filter.caller.is_none()
            && filter.unused_since_us.is_none();
        if is_everything {
            let reason = "an empty prefix matches all channels; add `caller` or \
                          `channels_unused_since_us`, or name a prefix";
            return Err(("/channel_prefix".to_owned(), reason.to_owned()));
        }
        Ok(PruneFilter {
            channels: Some(filter),
            ..PruneFilter::default()
        })
    }
}

/// The reply to a prune.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PruneReply {
    /// What matches the conditions.
    pub estimate: PruneEstimate,
    /// The prune, which continues after the reply; null for a dry run.
    pub prune: Option<PruneBody>,
}

/// A prune.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PruneBody {
    /// Number of the prune since the start of the node.
    pub number: u64,
    /// `running`, `done`, `failed` or `stopped`.
    #[schema(pattern = "^(running|done|failed|stopped)$")]
    pub state: String,
    /// What it does.
    pub phase: String,
    /// Whether the limits of the configuration are the reason.
    pub automatic: bool,
    /// Only these runs; all if empty.
    pub runs: Vec<String>,
    /// None of these runs.
    pub keep_runs: Vec<String>,
    /// Only this caller.
    pub caller: Option<String>,
    /// Only batches whose last grade is older.
    pub before_us: Option<i64>,
    /// Whether only bodies are deleted.
    pub bodies_only: bool,
    /// Only these channels.
    #[serde(default)]
    pub channels: Vec<String>,
    /// Only channels whose names start with this.
    #[serde(default)]
    pub channel_prefix: Option<String>,
    /// Only channels whose last grade is older.
    #[serde(default)]
    pub channels_unused_since_us: Option<i64>,
    /// When it was started, in microseconds since the Unix epoch.
    pub started_us: i64,
    /// When it ended.
    pub ended_us: Option<i64>,
    /// Batches of which bodies or grades were deleted.
    pub deleted_batches: u64,
    /// Grades that were deleted.
    pub deleted_grades: u64,
    /// Bytes of bodies that were deleted, compressed.
    pub deleted_body_bytes: u64,
    /// Runs that were deleted with their totals and charts.
    pub deleted_runs: u64,
    /// Channels that were deleted with their counts and the results of their checks.
    #[serde(default)]
    pub deleted_channels: u64,
    /// Why it failed.
    pub error: Option<String>,
}

impl From<PruneProgress> for PruneBody {
    fn from(prune: PruneProgress) -> Self {
        let state = match prune.state {
            PruneState::Running => "running",
            PruneState::Done => "done",
            PruneState::Failed => "failed",
            PruneState::Stopped => "stopped",
        };
        let channels = prune.filter.channels.unwrap_or_default();
        Self {
            number: prune.number,
            state: state.to_owned(),
            phase: prune.phase,
            automatic: prune.automatic,
            runs: prune.filter.runs,
            keep_runs: prune.filter.keep_runs,
            caller: prune.filter.caller.or(channels.caller),
            before_us: prune.filter.before_us,
            bodies_only: prune.filter.bodies_only,
            channels: channels.names,
            channel_prefix: channels.prefix,
            channels_unused_since_us: channels.unused_since_us,
            started_us: prune.started_us,
            ended_us: prune.ended_us,
            deleted_batches: prune.batches,
            deleted_grades: prune.grades,
            deleted_body_bytes: prune.body_bytes,
            deleted_runs: prune.runs,
            deleted_channels: prune.channels,
            error: prune.error,
        }
    }
}

impl From<RetentionLimits> for LimitsBody {
    fn from(limits: RetentionLimits) -> Self {
        Self {
            body_age_us: (limits.body_age_us > 0).then_some(limits.body_age_us),
            grade_age_us: (limits.grade_age_us > 0).then_some(limits.grade_age_us),
            max_bytes: (limits.max_bytes > 0).then_some(limits.max_bytes),
            keep_runs: limits.keep_runs,
            channel_age_us: (limits.channel_age_us > 0).then_some(limits.channel_age_us),
        }
    }
}

impl From<StorageReport> for StorageBody {
    fn from(report: StorageReport) -> Self {
        Self {
            file_bytes: report.file_bytes,
            free_bytes: report.free_bytes,
            permanent_bytes: report.permanent_bytes,
            log_bytes: report.log_bytes,
            spool_bytes: report.spool_bytes,
            text_bytes: report.text_bytes,
            shrinks: report.shrinks,
            batches: report.total.batches,
            grades: report.total.grades,
            grade_bytes: report.total.grade_bytes,
            body_bytes: report.total.body_bytes,
            holdings_count: report.total.holdings,
            holdings: report.holdings,
            replies: report.replies,
            uncounted_batches: report.uncounted_batches,
            oldest_us: report.oldest_us,
            oldest_bodies_us: report.oldest_bodies_us,
            limits: report.limits.into(),
            next_check_us: report.next_check_us,
            prune: report.prune.map(Into::into),
        }
    }
}
