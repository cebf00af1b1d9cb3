//! Lines of a shard that are not valid items, as the record keeps them.

use assay_core::Fault;
use serde::{Deserialize, Serialize};

/// A line that is not a valid item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InvalidItem {
    /// Its place among the lines of the shard that are not blank, from 0.
    pub(crate) at: usize,
    /// The id of the item, if it could be read.
    pub(crate) id: Option<String>,
    /// The group of the item, if it could be read.
    pub(crate) group: Option<String>,
    /// Why it is invalid.
    pub(crate) error: Fault,
}

/// The lines as they are stored; `None` if there are none.
pub(crate) fn stored(items: &[InvalidItem]) -> Option<String> {
    // Texts and numbers can always be serialised.
    (!items.is_empty()).then(|| serde_json::to_string(items).unwrap_or_default())
}

/// Reads stored lines.
pub(crate) fn read(stored: Option<&str>) -> serde_json::Result<Vec<InvalidItem>> {
    stored.map_or(Ok(Vec::new()), serde_json::from_str)
}
