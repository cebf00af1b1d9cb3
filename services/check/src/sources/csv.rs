//! Comma- or tab-separated values with a header. All values are text.

use std::io::{BufRead, BufReader};

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use serde_json::Value;

use super::quote_tracker::QuoteTracker;
use super::rows::{Locations, MAX_ROW_BYTES};
use crate::row::{DatasetRow, SourceRow};

/// Byte order mark, which some Windows editors put before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

pub(super) fn rows(
    file: impl std::io::Read + Send,
    delimiter: u8,
    locations: Locations,
) -> Result<impl Iterator<Item = SourceRow> + Send, String> {
    let mut file = BufReader::with_capacity(1 << 20, file);
    let start = file.fill_buf().map_err(|error| error.to_string())?;
    let has_mark = start.starts_with(BYTE_ORDER_MARK);
    file.consume(if has_mark { BYTE_ORDER_MARK.len() } else { 0 });
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(QuoteTracker::new(file, delimiter, MAX_ROW_BYTES as u64));
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    if let Some(opened) = reader.get_ref().unclosed() {
        return Err(format!(
            "the quote opened in the header at line {opened} is never closed"
        ));
    }
    if let Some((_, name)) = names
        .iter()
        .enumerate()
        .find(|(at, name)| names.iter().take(*at).any(|other| other == *name))
    {
        return Err(format!("duplicate column `{name}` in the header"));
    }
    let (mut record, mut ended) = (StringRecord::new(), false);
    Ok(std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let start = reader.position().byte();
        let read = reader.read_record(&mut record);
        let line = reader.get_mut().line_of(start);
        if let Some(opened) = reader.get_ref().unclosed() {
            ended = true;
            let message = format!(
                "the quote opened at line {opened} is never closed, so no row after it is read; \
                 close the quote"
            );
            return Some(SourceRow::Unreadable {
                location: locations.at(line),
                message,
            });
        }
        match read {
            Ok(false) => None,
            Ok(true) => {
                let location = locations.at(line);
                let columns = names.iter().zip(&record);
                let columns = columns
                    .map(|(name, value)| (name.to_owned(), Value::from(value)))
                    .collect();
                Some(SourceRow::Row(DatasetRow::from_columns(location, columns)))
            }
            Err(error) => {
                ended = error.is_io_error();
                Some(SourceRow::Unreadable {
                    location: locations.at(line),
                    message: message(&error),
                })
            }
        }
    }))
}

/// The error message of a row, because the messages of the `csv` crate count lines differently.
fn message(error: &csv::Error) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("the row has {len} values, but the header has {expected_len} columns")
        }
        ErrorKind::Utf8 { err, .. } => format!("not UTF-8: {err}"),
        _ => error.to_string(),
    }
}
