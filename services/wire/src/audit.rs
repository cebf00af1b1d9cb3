//! JSON types for the audit log.

use assay_record::access::AuditRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// An administrative act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditBody {
    /// Number of the entry, in the order of the log.
    pub no: i64,
    /// When it happened, in microseconds since the Unix epoch.
    pub time_us: i64,
    /// Name of the caller; `command line` for commands that open the database, `unknown` for
    /// refused callers.
    pub caller: String,
    /// Role of the caller; null if it has none.
    pub role: Option<String>,
    /// What was done.
    #[schema(example = "key.create")]
    pub action: String,
    /// To what, such as the name of a key.
    pub target: String,
    /// Further details.
    pub details: Value,
}

impl From<AuditRecord> for AuditBody {
    fn from(AuditRecord { no, entry }: AuditRecord) -> Self {
        Self {
            no,
            time_us: entry.time_us,
            caller: entry.caller,
            role: entry.role.map(|role| role.to_string()),
            action: entry.action,
            target: entry.target,
            details: entry.details,
        }
    }
}

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPageBody {
    /// The entries, newest first.
    pub entries: Vec<AuditBody>,
    /// Value of `before` for the next page; null on the last.
    pub next: Option<i64>,
}
