//! Entry point of the fuzz targets for datasets. Not part of the API.

use std::path::Path;

use assay_templates::Row;

use crate::SourceError;
use crate::row::SourceRow;

/// A row of a file.
#[derive(Debug, PartialEq)]
pub struct ReadRow {
    /// Its line or row number.
    pub number: u64,
    /// Its columns and its unparsed task, or why it cannot be read.
    pub content: Result<(Row, Option<String>), String>,
}

/// The rows of a file. The file name determines the format.
///
/// # Errors
/// The file cannot be opened or has another format.
pub fn rows(path: &Path) -> Result<impl Iterator<Item = ReadRow>, SourceError> {
    Ok(crate::sources::open("rows", path)?.map(|row| ReadRow {
        number: row.location().number,
        content: match row {
            SourceRow::Row(row) => Ok((row.columns, row.task.map(|task| task.get().to_owned()))),
            SourceRow::Unreadable { message, .. } => Err(message),
        },
    }))
}
