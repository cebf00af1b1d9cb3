//! A request that a node grades while other nodes wait.

use assay_core::{BatchId, Hash};

use crate::RequestKey;

/// A request that a node grades.
#[derive(Debug, Clone)]
pub(crate) struct HeldRequest {
    pub(crate) key: RequestKey,
    pub(crate) request: Hash,
    pub(crate) batch: BatchId,
    /// Name of the node's spool.
    pub(crate) holder: String,
}
