//! Comma or tab separated values with a header. Every value is text.

use std::io::{BufRead, BufReader};

use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

use super::Places;
use crate::row::{DatasetRow, Read};

pub(super) fn rows(
    file: std::fs::File,
    delimiter: u8,
    places: Places,
) -> Result<impl Iterator<Item = Read> + Send, String> {
    let mut file = BufReader::with_capacity(1 << 20, file);
    let start = file.fill_buf().map_err(|error| error.to_string())?;
    let end = start.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    // A record that ends in two bytes leaves the second for the next one, which then seems to begin a line early.
    let behind = u64::from(end > 0 && start[end - 1] == b'\r');
    let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(file);
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|other| other == *name))
    {
        return Err(format!("its header names the column `{}` twice", twice.1));
    }
    let (mut record, mut ended) = (StringRecord::new(), false);
    Ok(std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let line = reader.position().line() + behind;
        match reader.read_record(&mut record) {
            Ok(false) => None,
            Ok(true) => {
                let place = places.at(line);
                let columns = names.iter().zip(&record);
                let columns = columns.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
                Some(Read::Row(DatasetRow::from_columns(place, columns)))
            }
            Err(error) => {
                ended = error.is_io_error();
                Some(Read::Unread { place: places.at(line), message: error.to_string() })
            }
        }
    }))
}
