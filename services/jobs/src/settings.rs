//! Settings of jobs.

use std::time::Duration;

/// How jobs are graded, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSettings {
    /// Shards that the node grades at the same time; 0 leaves them to other nodes.
    pub shards: usize,
    /// Open jobs of one caller.
    pub per_caller: u64,
    /// Bytes of lines of one caller that are not graded yet.
    pub bytes_per_caller: u64,
    /// How long a job is kept after its end.
    pub kept: Duration,
    /// How lines are divided into shards.
    pub limits: ShardLimits,
}

/// How lines are divided into shards. A shard ends between two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardLimits {
    /// Items after which a shard ends.
    pub items: usize,
    /// Bytes after which a shard ends.
    pub bytes: usize,
    /// Most items of one group.
    pub group_items: usize,
    /// Most bytes of a line and of one group.
    pub group_bytes: usize,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            // While one is stored, another one is graded.
            shards: 4,
            per_caller: 16,
            bytes_per_caller: 16 << 30,
            kept: Duration::from_hours(30 * 24),
            limits: ShardLimits {
                items: 512,
                bytes: 4 << 20,
                group_items: 65_536,
                group_bytes: 64 << 20,
            },
        }
    }
}
