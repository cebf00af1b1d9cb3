//! CSV by RFC 4180, with commas as the only separators: a header, and rows with as many cells. Each
//! row becomes an object with the names of the header. The `csv` crate is not used because it
//! accepts malformed input: a missing closing quote, text after a closing quote.

use std::collections::HashSet;

use assay_base::truncated;
use assay_documents::{Json, SyntaxError};

use super::limits::{MAX_COPIED_BYTES, MAX_QUOTED, MAX_VALUES};

/// Reads one table.
pub(super) fn read(text: &str) -> Result<Json, SyntaxError> {
    let start = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let mut reader = Reader {
        text: text.trim_end_matches(['\r', '\n']),
        at: start,
    };
    let (_, names) = reader
        .row()?
        .ok_or_else(|| SyntaxError::new(text.len(), "the header is missing"))?;
    let mut seen = HashSet::new();
    for (at, name) in &names {
        if name.is_empty() {
            return Err(SyntaxError::new(*at, "a column name is empty"));
        }
        if !seen.insert(name.as_str()) {
            return Err(SyntaxError::new(
                *at,
                format!("duplicate column `{}`", truncated(name, MAX_QUOTED)),
            ));
        }
    }
    let (mut rows, mut values) = (Vec::new(), 0);
    // Every row repeats the column names.
    let names_bytes: usize = names.iter().map(|(_, name)| name.len()).sum();
    while let Some((at, cells)) = reader.row()? {
        if cells.len() != names.len() {
            let reason = format!(
                "the header has {} columns and row {} has {}",
                names.len(),
                rows.len() + 1,
                cells.len()
            );
            return Err(SyntaxError::new(at, reason));
        }
        values += 1 + cells.len();
        if values > MAX_VALUES {
            return Err(SyntaxError::new(
                at,
                "the document has more than four million values",
            ));
        }
        if (rows.len() + 1).saturating_mul(names_bytes) > MAX_COPIED_BYTES {
            return Err(SyntaxError::new(
                at,
                format!(
                    "the column names, repeated for each row, exceed {} MiB",
                    MAX_COPIED_BYTES >> 20
                ),
            ));
        }
        let cell = |((_, name), (_, cell)): (&(usize, String), (usize, String))| {
            (name.clone(), Json::Text(cell))
        };
        rows.push(Json::Object(names.iter().zip(cells).map(cell).collect()));
    }
    Ok(Json::Array(rows))
}

/// A cell and the byte offset of its start.
type Cell = (usize, String);

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// Reads the next row. Returns its start and cells, or `None` after the last row.
    fn row(&mut self) -> Result<Option<(usize, Vec<Cell>)>, SyntaxError> {
        if self.at >= self.text.len() {
            return Ok(None);
        }
        let start = self.at;
        let mut cells = Vec::new();
        loop {
            cells.push((self.at, self.cell()?));
            match self.text.as_bytes().get(self.at) {
                Some(b',') => self.at += 1,
                _ => break,
            }
        }
        let rest = &self.text[self.at..];
        self.at += if rest.starts_with("\r\n") {
            2
        } else {
            usize::from(!rest.is_empty())
        };
        Ok(Some((start, cells)))
    }

    /// Reads one cell, up to a comma, the end of the line or the end of the text.
    fn cell(&mut self) -> Result<String, SyntaxError> {
        let rest = &self.text[self.at..];
        if !rest.starts_with('"') {
            let end = rest.find([',', '\n', '"']).unwrap_or(rest.len());
            if rest[end..].starts_with('"') {
                return Err(SyntaxError::new(
                    self.at + end,
                    "unexpected quote in an unquoted cell",
                ));
            }
            let cell = &rest[..end];
            let cell = if rest[end..].starts_with('\n') {
                cell.strip_suffix('\r').unwrap_or(cell)
            } else {
                cell
            };
            self.at += cell.len();
            return Ok(cell.to_owned());
        }
        let (open, mut cell) = (self.at, String::new());
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find('"') else {
                return Err(SyntaxError::new(open, "unterminated quote"));
            };
            cell.push_str(&rest[..end]);
            self.at += end + 1;
            let rest = &self.text[self.at..];
            if rest.starts_with('"') {
                cell.push('"');
                self.at += 1;
            } else if rest.is_empty() || rest.starts_with([',', '\n']) || rest.starts_with("\r\n") {
                return Ok(cell);
            } else {
                return Err(SyntaxError::new(
                    self.at,
                    "unexpected text after the closing quote",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        read(text)
            .unwrap_or_else(|error| panic!("{error}: {text}"))
            .to_string()
    }

    #[test]
    fn rows_are_objects_of_strings() {
        assert_eq!(
            parsed("name,note\r\nAda,\"a \"\"b\"\", c\nd\"\r\nBo,\r\n\r\n"),
            r#"[{"name":"Ada","note":"a \"b\", c\nd"},{"name":"Bo","note":""}]"#
        );
        assert_eq!(parsed("a,b"), "[]");
        assert_eq!(parsed("a\n1\n 2 "), r#"[{"a":"1"},{"a":" 2 "}]"#);
    }

    #[test]
    fn limits_repeated_column_names() {
        let of = |rows: usize| read(&format!("{}\n{}", "n".repeat(1 << 20), "1\n".repeat(rows)));
        assert!(of(32).is_ok());
        assert!(of(33).unwrap_err().reason.contains("32 MiB"));
    }

    #[test]
    fn reports_the_byte_of_errors() {
        let read_error = |text: &str| {
            let error = read(text).unwrap_err();
            (error.at, error.reason)
        };
        assert_eq!(
            read_error("a,b\n1,2\n3\n"),
            (8, "the header has 2 columns and row 2 has 1".to_owned())
        );
        assert_eq!(read_error("a,b\n1,2,3\n").0, 4);
        assert_eq!(
            read_error("a,b,a\n"),
            (4, "duplicate column `a`".to_owned())
        );
        assert_eq!(read_error("a,,b\n").0, 2);
        assert_eq!(
            read_error("a\n\"x\ny"),
            (2, "unterminated quote".to_owned())
        );
        assert_eq!(
            read_error("a\n\"x\"y"),
            (5, "unexpected text after the closing quote".to_owned())
        );
        assert_eq!(
            read_error("a\nx\"y\""),
            (3, "unexpected quote in an unquoted cell".to_owned())
        );
        assert_eq!(read_error("a,b\n1,2\n\n3,4").0, 8);
        assert_eq!(read_error("\n").1, "the header is missing");
    }
}
