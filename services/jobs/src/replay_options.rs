//! What applies to all grades of a replay.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What applies to all grades of a replay, as the record keeps it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReplayJobOptions {
    /// Fields to set in the tasks, as JSON values by name.
    #[serde(default)]
    pub(crate) fields: BTreeMap<String, Box<RawValue>>,
    /// Whether the grades were selected among those of all callers.
    #[serde(default)]
    pub(crate) of_all_callers: bool,
}

impl ReplayJobOptions {
    pub(crate) fn read(json: Option<&str>) -> serde_json::Result<Self> {
        json.map_or_else(|| Ok(Self::default()), serde_json::from_str)
    }
}
