//! What jobs need of a node.

use std::sync::Arc;

use assay_engine::Engine;
use assay_templates::Templates;

use crate::{JobSettings, Owners};

/// The parts of [`Jobs`](crate::Jobs).
pub struct JobParts {
    /// Grades the shards and has the record.
    pub engine: Engine,
    /// The templates that make tasks from rows.
    pub templates: Arc<Templates>,
    /// What callers may use.
    pub owners: Arc<dyn Owners>,
    /// Most bytes of the tasks that templates make for one shard.
    pub made_bytes: usize,
    /// The settings.
    pub settings: JobSettings,
}
