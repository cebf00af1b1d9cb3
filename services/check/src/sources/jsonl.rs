//! JSON lines: one object per line. Empty lines are skipped.

use std::io::{BufRead, BufReader, Read as _};

use super::rows::{Locations, MAX_ROW_BYTES};
use crate::row::SourceRow;

pub(super) fn rows(
    file: impl std::io::Read + Send,
    locations: Locations,
) -> impl Iterator<Item = SourceRow> + Send {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut number, mut line, mut ended) = (0, Vec::new(), false);
    std::iter::from_fn(move || {
        while !ended {
            line.clear();
            number += 1;
            let unreadable = |message: String| {
                Some(SourceRow::Unreadable {
                    location: locations.at(number),
                    message,
                })
            };
            match reader
                .by_ref()
                .take(MAX_ROW_BYTES as u64)
                .read_until(b'\n', &mut line)
            {
                Ok(0) => ended = true,
                Ok(_) if line.len() == MAX_ROW_BYTES && line.last() != Some(&b'\n') => {
                    ended = reader.skip_until(b'\n').is_err();
                    return unreadable(format!("the line is longer than {MAX_ROW_BYTES} bytes"));
                }
                Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(_) => return Some(SourceRow::from_json(locations.at(number), &line, None)),
                Err(error) => {
                    ended = true;
                    return unreadable(format!("cannot read the rest of the file: {error}"));
                }
            }
        }
        None
    })
}
