//! What `/readyz` answers.

use assay_core::store::RecordState;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The node takes batches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadyBody {
    /// `ready`.
    pub status: String,
    /// How the record fares; null for a node without one.
    pub record: Option<RecordBody>,
}

/// How the record fares. None of this keeps grades from being recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordBody {
    /// Entries that are recorded and not in the database yet.
    pub pending: u64,
    /// Entries that the database refused; `assay record set-aside` lists them.
    pub set_aside: u64,
    /// Why entries do not reach the database now; null while they do.
    pub apply_error: Option<String>,
}

impl From<RecordState> for RecordBody {
    fn from(state: RecordState) -> Self {
        let RecordState { pending, set_aside, apply_error } = state;
        Self { pending, set_aside, apply_error }
    }
}
