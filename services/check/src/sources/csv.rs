//! Comma or tab separated values with a header. Every value is text.

use std::io::{BufRead, BufReader};

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use serde_json::Value;

use super::quotes::Quotes;
use super::{LONGEST_ROW, Places};
use crate::row::{DatasetRow, Read};

/// What editors of another system put before the first line.
const MARK: &[u8] = "\u{feff}".as_bytes();

pub(super) fn rows(
    file: std::fs::File,
    delimiter: u8,
    places: Places,
) -> Result<impl Iterator<Item = Read> + Send, String> {
    let mut file = BufReader::with_capacity(1 << 20, file);
    let start = file.fill_buf().map_err(|error| error.to_string())?;
    let marked = start.starts_with(MARK);
    file.consume(if marked { MARK.len() } else { 0 });
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(Quotes::new(file, delimiter, LONGEST_ROW as u64));
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    if let Some(opened) = reader.get_ref().unclosed() {
        return Err(format!(
            "its header has a quote at line {opened} that is never closed"
        ));
    }
    if let Some(twice) = names
        .iter()
        .enumerate()
        .find(|(at, name)| names.iter().take(*at).any(|other| other == *name))
    {
        return Err(format!("its header names the column `{}` twice", twice.1));
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
                "a quote at line {opened} is never closed, so that all behind it is one text and \
                 no row of it is read; close it"
            );
            return Some(Read::Unread {
                place: places.at(line),
                message,
            });
        }
        match read {
            Ok(false) => None,
            Ok(true) => {
                let place = places.at(line);
                let columns = names.iter().zip(&record);
                let columns = columns
                    .map(|(name, value)| (name.to_owned(), Value::from(value)))
                    .collect();
                Some(Read::Row(DatasetRow::from_columns(place, columns)))
            }
            Err(error) => {
                ended = error.is_io_error();
                Some(Read::Unread {
                    place: places.at(line),
                    message: message(&error),
                })
            }
        }
    }))
}

/// The error message for a row; the messages of the `csv` crate count lines differently.
fn message(error: &csv::Error) -> String {
    match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("it has {len} values, but the header has {expected_len} columns")
        }
        ErrorKind::Utf8 { err, .. } => format!("it is not UTF-8: {err}"),
        _ => error.to_string(),
    }
}
