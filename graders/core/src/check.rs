//! Checks of datasets that were sent to the record: which datasets were checked, when, and what was
//! found. The report itself is a body.

use serde::{Deserialize, Serialize};

use crate::record::{Body, BodyKind};
use crate::{Hash, clock::BatchId};

/// That datasets were checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetCheck {
    /// Its id: the batch of the entry it came in. Ids sort by time, to the millisecond.
    pub id: BatchId,
    /// The datasets, as they were named, without revisions.
    pub datasets: Vec<String>,
    /// Rows that were looked at, of all datasets.
    pub checked: u64,
    /// Findings that are errors.
    pub errors: u64,
    /// Findings that are warnings.
    pub warnings: u64,
    /// The report's body.
    pub report: Hash,
    /// Who sent it.
    pub caller: String,
    /// When, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// How a report in JSON is stored. The name is of all of it, so a report that is sent again takes
/// no room.
#[must_use]
pub fn to_body(report_json: Vec<u8>) -> Body {
    Body {
        hash: Hash::of_parts(&[b"report", &report_json]),
        kind: BodyKind::Report,
        content: report_json,
    }
}
