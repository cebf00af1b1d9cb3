//! Comma or tab separated values with a header. Every value is text.

use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

use super::Places;
use crate::row::{DatasetRow, Read};

pub(super) fn rows(
    file: std::fs::File,
    delimiter: u8,
    places: Places,
) -> Result<impl Iterator<Item = Read> + Send, String> {
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
        let line = reader.position().line();
        match reader.read_record(&mut record) {
            Ok(false) => None,
            Ok(true) => {
                let place = places.at(record.position().map_or(line, csv::Position::line));
                let columns = names.iter().zip(&record);
                let columns = columns.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
                Some(Read::Row(DatasetRow::from_columns(place, columns)))
            }
            Err(error) => {
                ended = error.is_io_error();
                let line = error.position().map_or(line, csv::Position::line);
                Some(Read::Unread { place: places.at(line), message: error.to_string() })
            }
        }
    }))
}
