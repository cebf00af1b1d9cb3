//! Parquet, one row group after the other, a page of each column at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use serde_json::Value;

use super::Places;
use super::chunks::Chunks;
use super::pages::CheckedFile;
use crate::row::{DatasetRow, Read};

pub(super) fn rows(
    file: std::fs::File,
    places: Places,
) -> Result<impl Iterator<Item = Read> + Send, String> {
    // The library answers most broken files with an error, and some with a panic.
    let opened = catch_unwind(AssertUnwindSafe(|| SerializedFileReader::new(Chunks(file))));
    let reader = opened
        .map_err(|_| "its metadata are broken".to_owned())?
        .map_err(|error| error.to_string())?;
    let names = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .root_schema()
        .get_fields();
    if names.is_empty() {
        return Err("it has no columns".to_owned());
    }
    let mut rows = RowIter::from_file_into(Box::new(CheckedFile(reader)));
    let (mut number, mut ended) = (0, false);
    Ok(std::iter::from_fn(move || {
        if ended {
            return None;
        }
        number += 1;
        let place = places.at(number);
        let read = catch_unwind(AssertUnwindSafe(|| {
            rows.next().map(|row| row.map(|row| row.to_json_value()))
        }));
        let message = match read {
            Ok(None) => return None,
            Ok(Some(Ok(Value::Object(columns)))) => {
                return Some(Read::Row(DatasetRow::from_columns(place, columns)));
            }
            Ok(Some(Ok(_))) => "it is no row of columns".to_owned(),
            Ok(Some(Err(error))) => format!("the file cannot be read further: {error}"),
            Err(_) => "the file is broken here and cannot be read further".to_owned(),
        };
        ended = true;
        Some(Read::Unread { place, message })
    }))
}
