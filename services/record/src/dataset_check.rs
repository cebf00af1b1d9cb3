//! Dataset checks in the record: which datasets were checked, when, and how many findings there
//! were. The report itself is stored as a body.

use assay_core::{Hash, clock::BatchId};
use serde::{Deserialize, Serialize};

use crate::{Body, BodyKind};

/// A dataset check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetCheck {
    /// Id: the batch id of its entry. Ids sort by time, with a resolution of milliseconds.
    pub id: BatchId,
    /// Names of the datasets, without revisions.
    pub datasets: Vec<String>,
    /// Number of rows that were checked, over all datasets.
    pub checked: u64,
    /// Number of findings that are errors.
    pub errors: u64,
    /// Number of findings that are warnings.
    pub warnings: u64,
    /// Hash of the report's body.
    pub report: Hash,
    /// The caller.
    pub caller: String,
    /// Time, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// The stored form of a JSON report. The hash covers the whole report, so a report that is sent
/// again needs no additional storage.
#[must_use]
pub fn to_body(report_json: Vec<u8>) -> Body {
    Body {
        hash: BodyKind::Report.hash(&report_json),
        kind: BodyKind::Report,
        content: report_json,
    }
}
