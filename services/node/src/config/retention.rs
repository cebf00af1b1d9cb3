//! The sections `[retention]` and `[redaction]`.

use assay_engine::{BodyPolicy, Redaction};
use assay_record::storage::RetentionLimits;
use serde::{Deserialize, Serialize};

use super::sections::require_within;

/// Maximum age, in days: a hundred years.
const MAX_DAYS: u32 = 36_500;

/// Which grades are stored with their bodies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredBodies {
    /// All.
    #[default]
    All,
    /// Those that did not pass.
    Failures,
    /// The share `sample_share`.
    Sample,
    /// None.
    None,
}

/// `[retention]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Which grades are stored with their task, prompt and completion: `all`, `failures` (those
    /// that did not pass), `sample` or `none`.
    pub bodies: StoredBodies,
    /// With `bodies = "sample"`: the share of grades, from 0 to 1. A grade belongs to it by the
    /// hash of its completion.
    pub sample_share: f64,
    /// Age in days after which tasks, prompts and completions are deleted; 0 for never.
    pub body_days: u32,
    /// Age in days after which grades are deleted; 0 for never. Totals and charts of runs remain.
    pub grade_days: u32,
    /// Maximum size of the data in the database, in GiB, without the index of texts; 0 for no
    /// limit. Above it, the oldest bodies are deleted, and then the oldest grades.
    pub max_gigabytes: f64,
    /// Names of runs of which nothing is deleted.
    pub keep_runs: Vec<String>,
    /// Number of days without a grade after which a channel is deleted, with its counts and the
    /// results of its checks; 0 for never. Channels with a calibration remain.
    pub channel_days: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            bodies: StoredBodies::All,
            sample_share: 0.1,
            body_days: 0,
            grade_days: 0,
            max_gigabytes: 0.0,
            keep_runs: Vec::new(),
            channel_days: 0,
        }
    }
}

impl Retention {
    pub(super) fn check(&self) -> Result<(), String> {
        require_within("retention.sample_share", self.sample_share, 0.0..=1.0)?;
        require_within("retention.body_days", self.body_days, 0..=MAX_DAYS)?;
        require_within("retention.grade_days", self.grade_days, 0..=MAX_DAYS)?;
        require_within("retention.channel_days", self.channel_days, 0..=MAX_DAYS)?;
        require_within("retention.max_gigabytes", self.max_gigabytes, 0.0..=1e6)
    }

    /// The policy of the engine.
    #[must_use]
    pub fn body_policy(&self) -> BodyPolicy {
        match self.bodies {
            StoredBodies::All => BodyPolicy::All,
            StoredBodies::Failures => BodyPolicy::Failures,
            StoredBodies::Sample => BodyPolicy::Sample(self.sample_share),
            StoredBodies::None => BodyPolicy::None,
        }
    }
}

/// Microseconds of a day.
const DAY_US: i64 = 24 * 3_600 * 1_000_000;

impl Retention {
    /// The limits of the store.
    #[must_use]
    pub fn limits(&self) -> RetentionLimits {
        // The value is checked, and a size needs no last digit.
        RetentionLimits {
            body_age_us: i64::from(self.body_days) * DAY_US,
            grade_age_us: i64::from(self.grade_days) * DAY_US,
            max_bytes: (self.max_gigabytes * (1_u64 << 30) as f64) as u64,
            keep_runs: self.keep_runs.clone(),
            channel_age_us: i64::from(self.channel_days) * DAY_US,
        }
    }
}

/// A pattern of `[redaction]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedactionPattern {
    /// Regular expression, in the syntax of the `regex` crate.
    pub pattern: String,
    /// Text that replaces each match; the name of the pattern in brackets if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
}

impl RedactionPattern {
    pub(super) fn named(&self, name: &str) -> Redaction {
        Redaction {
            name: name.to_owned(),
            pattern: self.pattern.clone(),
            replacement: self
                .replacement
                .clone()
                .unwrap_or_else(|| format!("[{name}]")),
        }
    }
}
