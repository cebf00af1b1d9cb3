//! The state of the record, and what could not be applied to the database.

use assay_core::clock::BatchId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of the record. None of these conditions prevents grades from being recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RecordBody)]
pub struct RecordState {
    /// Entries that are recorded but not in the database yet.
    pub pending: u64,
    /// Entries that the database rejected, and damaged parts of the spool; `assay record set-aside`
    /// lists them.
    pub set_aside: u64,
    /// Why entries cannot be applied to the database; null if they can.
    pub apply_error: Option<String>,
    /// Why the database cannot be read; null if it can.
    pub read_error: Option<String>,
}

/// A recorded entry that the database rejected because of its contents. It is durable but not
/// visible to reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Name, unique among the entries that are set aside.
    pub name: String,
    /// Id of the batch; `None` if the entry cannot be decoded.
    pub batch: Option<BatchId>,
    /// Number of grades.
    pub grades: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Why it was rejected.
    pub reason: String,
    /// When it was set aside, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// An entry that was retried, and why it was rejected again; `None` if it was applied.
pub type Retried = (SetAside, Option<String>);
