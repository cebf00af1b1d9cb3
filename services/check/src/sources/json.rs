//! A JSON array of objects, read element by element, or JSON lines with the extension `.json`.

use std::io::{BufRead, BufReader};

use assay_base::TextPosition;

use super::jsonl;
use super::rows::{Locations, MAX_ROW_BYTES, Rows};
use crate::row::SourceRow;

/// The rows of a file. Locations are made by `rows` for an array and by `lines` for JSON lines.
pub(super) fn rows(
    file: impl std::io::Read + Send + 'static,
    rows: &Locations,
    lines: &Locations,
) -> Result<Rows, String> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let start = reader.fill_buf().map_err(|error| error.to_string())?;
    let start = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start);
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => Ok(Box::new(elements(reader, rows.clone()))),
        Some(b'{') => Ok(Box::new(jsonl::rows(reader, lines.clone()))),
        _ => Err("expected an array of objects or one object per line".to_owned()),
    }
}

/// Position of the reader in the array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrayPosition {
    /// Before the opening bracket.
    Before,
    /// Between the brackets.
    Inside,
    /// After the closing bracket, or after an error.
    Ended,
}

/// The position of the first character of an element after white space.
fn first_line(start: TextPosition, element: &[u8]) -> TextPosition {
    let blanks = element.iter().take_while(|byte| byte.is_ascii_whitespace());
    blanks.fold(start, |at, byte| at.after(*byte))
}

fn elements(
    reader: impl BufRead + Send,
    locations: Locations,
) -> impl Iterator<Item = SourceRow> + Send {
    let mut bytes = reader.bytes();
    let (mut number, mut position) = (0, ArrayPosition::Before);
    let mut at = TextPosition::START;
    std::iter::from_fn(move || {
        if position == ArrayPosition::Ended {
            return None;
        }
        let (mut element, mut depth, mut quoted, mut escaped) = (Vec::new(), 0u32, false, false);
        let (mut last, mut start) = (false, at);
        let broken = loop {
            let byte = match bytes.next() {
                Some(Ok(byte)) => byte,
                Some(Err(error)) => {
                    break Some(format!("cannot read the rest of the file: {error}"));
                }
                None => break Some("the file ends within the array".to_owned()),
            };
            if position == ArrayPosition::Before {
                // Not a byte order mark, which has no width.
                if byte.is_ascii() {
                    at = at.after(byte);
                }
                if byte == b'[' {
                    position = ArrayPosition::Inside;
                    start = at;
                }
                continue;
            }
            at = at.after(byte);
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
            if element.len() == MAX_ROW_BYTES {
                break Some(format!("the element is longer than {MAX_ROW_BYTES} bytes"));
            }
            element.push(byte);
        };
        number += 1;
        if let Some(message) = broken {
            position = ArrayPosition::Ended;
            return Some(SourceRow::Unreadable {
                location: locations.at_line(number, start),
                message,
            });
        }
        if last {
            position = ArrayPosition::Ended;
            if number == 1 && element.iter().all(u8::is_ascii_whitespace) {
                return None;
            }
        }
        Some(SourceRow::from_json(
            locations.at_line(number, first_line(start, &element)),
            &element,
            Some(start),
        ))
    })
}
