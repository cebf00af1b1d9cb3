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
    pub record: Option<RecordState>,
}
