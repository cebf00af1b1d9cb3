//! JSON lines: each line an object, empty lines apart.

use std::io::{BufRead, BufReader, Read as _};

use super::{LONGEST_ROW, Places};
use crate::row::Read;

pub(super) fn rows(
    file: impl std::io::Read + Send,
    places: Places,
) -> impl Iterator<Item = Read> + Send {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut number, mut line, mut ended) = (0, Vec::new(), false);
    std::iter::from_fn(move || {
        while !ended {
            line.clear();
            number += 1;
            let unread = |message: String| {
                Some(Read::Unread {
                    place: places.at(number),
                    message,
                })
            };
            match reader
                .by_ref()
                .take(LONGEST_ROW as u64)
                .read_until(b'\n', &mut line)
            {
                Ok(0) => ended = true,
                Ok(_) if line.len() == LONGEST_ROW && line.last() != Some(&b'\n') => {
                    ended = reader.skip_until(b'\n').is_err();
                    return unread(format!("it is longer than {LONGEST_ROW} bytes"));
                }
                Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(_) => return Some(Read::from_json(places.at(number), &line)),
                Err(error) => {
                    ended = true;
                    return unread(format!("the file cannot be read further: {error}"));
                }
            }
        }
        None
    })
}
