//! The section `[jobs]`: data sets that are graded in the background.

use std::time::Duration;

use assay_jobs::{JobSettings, ShardLimits};
use serde::{Deserialize, Serialize};

use super::Server;
use super::sections::require_within;

/// Most shards that a node grades at the same time: each is in memory.
const MAX_SHARDS: usize = 64;

/// Longest time that a job is kept, in days: ten years.
const MAX_DAYS: u64 = 3_650;

/// `[jobs]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Jobs {
    /// Shards of jobs that the node grades at the same time; 0 leaves them to the other nodes of
    /// the database.
    pub shards: usize,
    /// Maximum number of jobs of one caller that are not finished.
    pub per_caller: u64,
    /// Maximum size of the lines of these jobs that are not graded yet, in bytes.
    pub bytes_per_caller: u64,
    /// Days after its end when a job is deleted. Its grades are kept as `retention` says.
    pub kept_days: u64,
}

impl Default for Jobs {
    fn default() -> Self {
        let JobSettings {
            shards,
            per_caller,
            bytes_per_caller,
            kept,
            limits: _,
        } = JobSettings::default();
        Self {
            shards,
            per_caller,
            bytes_per_caller,
            kept_days: kept.as_secs() / 86_400,
        }
    }
}

impl Jobs {
    pub(super) fn check(&self) -> Result<(), String> {
        require_within("jobs.shards", self.shards, 0..=MAX_SHARDS)?;
        require_within("jobs.kept_days", self.kept_days, 1..=MAX_DAYS)
    }

    /// The settings of jobs. A group is limited as a batch is.
    #[must_use]
    pub fn settings(&self, server: &Server) -> JobSettings {
        JobSettings {
            shards: self.shards,
            per_caller: self.per_caller,
            bytes_per_caller: self.bytes_per_caller,
            kept: Duration::from_secs(self.kept_days * 86_400),
            limits: ShardLimits {
                group_items: server.batch_items,
                group_bytes: server.body_bytes,
                ..JobSettings::default().limits
            },
        }
    }
}
