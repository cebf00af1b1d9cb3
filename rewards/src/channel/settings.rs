//! Settings of the estimation of rates, and the counts of one channel.

use std::collections::BTreeMap;

use crate::channel::counts::Calibration;
use crate::channel::counts::JudgeCounts;

use super::window::{Bucket, HALF_LIFE};
use crate::Rates;

/// Settings of the estimation of rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Half-life of the window: an item weighs half after this many newer items.
    pub half_life: f64,
    /// Weight, in checks, of the grader's other channels when rates are shrunk towards them.
    pub prior_checks: f64,
    /// Rates declared by the configuration, by channel.
    pub declared: BTreeMap<String, Rates>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            half_life: HALF_LIFE,
            prior_checks: 10.0,
            declared: BTreeMap::new(),
        }
    }
}

/// Counts of one channel and version, buckets in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CollectedCounts {
    pub(super) buckets: BTreeMap<i64, Bucket>,
    pub(super) judges: BTreeMap<(String, bool), JudgeCounts>,
    pub(super) calibration: Option<Calibration>,
}
