//! Counts of parts of a channel: by time, by run and by policy.

use std::collections::BTreeMap;

use assay_rewards::channel::ChannelCounts;

/// What the parts of a channel are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKey {
    /// Runs. Grades without a run are a part without a name.
    Run,
    /// Names of policies.
    Policy,
}

/// A run or policy with its counts of a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelPart {
    /// Name of the run or policy; `None` for grades without a run.
    pub name: Option<String>,
    /// Its counts. Verdicts of judges that operators adjudicated are those of the whole channel.
    pub counts: ChannelCounts,
}

/// Counts of a channel by time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChannelTimes {
    /// Length of each span of time, in units of
    /// [`BUCKET_US`](assay_rewards::channel::counts::BUCKET_US).
    pub width: i64,
    /// Counts by start of the span, in the same units. Checks by operators count at the time of
    /// the adjudication.
    pub spans: BTreeMap<i64, ChannelCounts>,
}
