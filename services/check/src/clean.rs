//! Writes the rows of datasets without those that have findings.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::report::FlaggedRows;
use crate::row::{SourceRow, TASK};
use crate::sources;
use crate::{Dataset, SourceError};

/// What was written and what was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanRows {
    /// Number of written rows.
    pub written: u64,
    /// Number of rows that were left out, by the code of their first finding.
    pub dropped: BTreeMap<&'static str, u64>,
}

/// Why clean rows cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// A dataset cannot be read again.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The rows cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Reason for leaving out a row whose integers have more than 64 bits, which would lose digits.
const LARGE_INTEGER: &str = "large-integer";

/// Writes the rows of the datasets that are not flagged as JSON lines.
///
/// # Errors
/// [`CleanError`]: a dataset cannot be read again, or the rows cannot be written.
pub fn write_clean(
    datasets: &[Dataset],
    flagged: &FlaggedRows,
    out: &mut dyn Write,
) -> Result<CleanRows, CleanError> {
    let mut clean = CleanRows::default();
    for dataset in datasets {
        let flagged = flagged.get(dataset.name.as_str());
        for row in sources::open(&dataset.name, &dataset.path)? {
            let code = match &row {
                SourceRow::Unreadable { .. } => {
                    Some(crate::findings::no_task::ROW_NOT_READABLE.name)
                }
                SourceRow::Row(row) if row.lost_digits => Some(LARGE_INTEGER),
                SourceRow::Row(row) => flagged
                    .and_then(|rows| rows.get(&row.location.number))
                    .copied(),
            };
            if let Some(code) = code {
                *clean.dropped.entry(code).or_default() += 1;
                continue;
            }
            if let SourceRow::Row(row) = row {
                write_row(&row.columns, row.task.as_deref(), out)?;
                clean.written += 1;
            }
        }
    }
    out.flush()?;
    Ok(clean)
}

fn write_row(
    columns: &assay_templates::Row,
    task: Option<&RawValue>,
    out: &mut dyn Write,
) -> io::Result<()> {
    // The task keeps its text, and with it the digits of its numbers.
    let raw = |value: &Value| serde_json::value::to_raw_value(value);
    let mut row: BTreeMap<&str, Box<RawValue>> = BTreeMap::new();
    for (name, value) in columns {
        row.insert(name, raw(value)?);
    }
    if let Some(task) = task {
        row.insert(TASK, task.to_owned());
    }
    serde_json::to_writer(&mut *out, &row)?;
    out.write_all(b"\n")
}
