//! The response of `/readyz`.

use assay_record::RecordState;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The node is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadyBody {
    /// Always `ready`.
    pub status: String,
    /// The state of the record; null for a node without one.
    pub record: Option<RecordBody>,
}

/// The state of the record. None of these conditions prevents grades from being recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordBody {
    /// Entries that are recorded but not in the database yet.
    pub pending: u64,
    /// Entries that the database rejected, and damaged parts of the spool; `assay record set-aside`
    /// lists them.
    pub set_aside: u64,
    /// Why entries cannot be applied to the database; null if they can.
    pub apply_error: Option<String>,
}

impl From<RecordState> for RecordBody {
    fn from(state: RecordState) -> Self {
        let RecordState {
            pending,
            set_aside,
            apply_error,
        } = state;
        Self {
            pending,
            set_aside,
            apply_error,
        }
    }
}
