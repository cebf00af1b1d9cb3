//! Names that callers choose and for which sums are kept: channels and runs. The engine limits how
//! many each caller introduces.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The names in the record, each with the caller that used it first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsedNames {
    /// Channels that grades use.
    pub channels: BTreeMap<Arc<str>, Arc<str>>,
    /// Runs, under their recorded names.
    pub runs: BTreeMap<Arc<str>, Arc<str>>,
}

/// Names that retention deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeletedNames {
    /// Channels.
    pub channels: Vec<String>,
    /// Runs.
    pub runs: Vec<String>,
}

impl DeletedNames {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.runs.is_empty()
    }

    /// Adds other names.
    pub fn extend(&mut self, other: Self) {
        self.channels.extend(other.channels);
        self.runs.extend(other.runs);
    }
}
