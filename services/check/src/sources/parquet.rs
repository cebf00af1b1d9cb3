//! Parquet, read one row group at a time and one page of each column at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use serde_json::Value;

use super::bounded_file::BoundedFile;
use super::checked_pages::CheckedFile;
use super::rows::Locations;
use crate::row::{DatasetRow, SourceRow};

pub(super) fn rows(
    file: std::fs::File,
    locations: Locations,
) -> Result<impl Iterator<Item = SourceRow> + Send, String> {
    // The library returns an error for most broken files and panics for some.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        SerializedFileReader::new(BoundedFile(file))
    }));
    let reader = opened
        .map_err(|_| "the metadata is broken".to_owned())?
        .map_err(|error| error.to_string())?;
    let names = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .root_schema()
        .get_fields();
    if names.is_empty() {
        return Err("the file has no columns".to_owned());
    }
    let mut rows = RowIter::from_file_into(Box::new(CheckedFile(reader)));
    let (mut number, mut ended) = (0, false);
    Ok(std::iter::from_fn(move || {
        if ended {
            return None;
        }
        number += 1;
        let location = locations.at(number);
        let read = catch_unwind(AssertUnwindSafe(|| {
            rows.next().map(|row| row.map(|row| row.to_json_value()))
        }));
        let message = match read {
            Ok(None) => return None,
            Ok(Some(Ok(Value::Object(columns)))) => {
                return Some(SourceRow::Row(DatasetRow::from_columns(location, columns)));
            }
            Ok(Some(Ok(_))) => "the row is not an object of columns".to_owned(),
            Ok(Some(Err(error))) => format!("cannot read the rest of the file: {error}"),
            Err(_) => "the file is broken; cannot read the rest".to_owned(),
        };
        ended = true;
        Some(SourceRow::Unreadable { location, message })
    }))
}
