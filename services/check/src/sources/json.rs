//! One JSON array of objects, read element by element; or, under the same name, JSON lines.

use std::io::{BufRead, BufReader};

use super::{LONGEST_ROW, Places, Rows, jsonl};
use crate::row::Read;

/// The rows of a file: `rows` are places in an array, `lines` those where it turns out to be JSON
/// lines.
pub(super) fn rows(file: std::fs::File, rows: &Places, lines: &Places) -> Result<Rows, String> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let start = reader.fill_buf().map_err(|error| error.to_string())?;
    let start = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start);
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => Ok(Box::new(elements(reader, rows.clone()))),
        Some(b'{') => Ok(Box::new(jsonl::rows(reader, lines.clone()))),
        _ => {
            Err("it begins neither as an array of objects nor as an object on each line".to_owned())
        }
    }
}

/// How far the text of an array was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Before the bracket that opens it.
    Nothing,
    /// Between its brackets.
    Array,
    /// Behind its end, or behind what breaks it.
    Ended,
}

fn elements(reader: impl BufRead + Send, places: Places) -> impl Iterator<Item = Read> + Send {
    let mut bytes = reader.bytes();
    let (mut number, mut within) = (0, Within::Nothing);
    std::iter::from_fn(move || {
        if within == Within::Ended {
            return None;
        }
        let (mut element, mut depth, mut quoted, mut escaped) = (Vec::new(), 0u32, false, false);
        let mut last = false;
        let broken = loop {
            let byte = match bytes.next() {
                Some(Ok(byte)) => byte,
                Some(Err(error)) => {
                    break Some(format!("the file cannot be read further: {error}"));
                }
                None => break Some("the file ends within the array".to_owned()),
            };
            if within == Within::Nothing {
                if byte == b'[' {
                    within = Within::Array;
                }
                continue;
            }
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b'{' | b'[' => depth += 1,
                b',' if depth == 0 => break None,
                b']' if depth == 0 => {
                    last = true;
                    break None;
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if element.len() == LONGEST_ROW {
                break Some(format!("an element is longer than {LONGEST_ROW} bytes"));
            }
            element.push(byte);
        };
        number += 1;
        if let Some(message) = broken {
            within = Within::Ended;
            return Some(Read::Unread {
                place: places.at(number),
                message,
            });
        }
        if last {
            within = Within::Ended;
            if number == 1 && element.iter().all(u8::is_ascii_whitespace) {
                return None;
            }
        }
        Some(Read::from_json(places.at(number), &element))
    })
}
