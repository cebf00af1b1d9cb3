//! Tables as delimited text.

use crate::finding::Finding;
use crate::limits::whole;

/// What a table must be like.
pub(super) struct Shape<'a> {
    pub(super) columns: &'a [String],
    /// Rows without the header.
    pub(super) rows: f64,
    pub(super) delimiter: char,
    /// Every field is in double quotes.
    pub(super) quoted: bool,
    /// A field in double quotes has a special character.
    pub(super) special: bool,
}

/// Whether a text, which may be in a fenced block, is such a table.
pub(super) fn csv(text: &str, shape: &Shape<'_>) -> Finding {
    let text = unfenced(text.trim());
    let mut delimiter = [0; 4];
    let delimiter = shape.delimiter.encode_utf8(&mut delimiter).as_bytes()[0];
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        match record {
            Ok(record) => rows.push(record),
            Err(error) => return Finding::new(false).with("error", error.to_string()),
        }
    }
    let has_header = rows
        .first()
        .is_some_and(|header| header.iter().eq(shape.columns));
    let count = rows.len().saturating_sub(1);
    let uneven = rows.iter().position(|row| row.len() != shape.columns.len());
    let quotes = quoted_fields(text, shape.delimiter);
    let all_quoted = quotes.iter().all(|(is_quoted, _)| *is_quoted);
    let has_special = quotes
        .iter()
        .any(|(is_quoted, is_special)| *is_quoted && *is_special);
    let met = has_header
        && count as f64 == shape.rows
        && uneven.is_none()
        && (!shape.quoted || all_quoted)
        && (!shape.special || has_special);
    let mut found = Finding::new(met)
        .with("header", has_header)
        .with("rows", count)
        .with("expected_rows", whole(shape.rows));
    if let Some(row) = uneven {
        found = found.with("uneven_row", row);
    }
    if shape.quoted {
        found = found.with("all_quoted", all_quoted);
    }
    if shape.special {
        found = found.with("special_field", has_special);
    }
    found
}

fn unfenced(text: &str) -> &str {
    let Some(fenced) = text.strip_prefix("```") else {
        return text;
    };
    let body = fenced.split_once('\n').map_or("", |(_, body)| body);
    body.strip_suffix("```").unwrap_or(body).trim_end()
}

/// Whether each field is in double quotes, and whether it has a character other than letters,
/// digits and white space.
fn quoted_fields(text: &str, delimiter: char) -> Vec<(bool, bool)> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut is_open = false;
    for character in text.chars().chain(['\n']) {
        if character == '"' {
            is_open = !is_open;
        }
        if !is_open && (character == delimiter || character == '\n') {
            let own = field.trim();
            if !own.is_empty() || character == delimiter {
                let inner = own
                    .strip_prefix('"')
                    .and_then(|rest| rest.strip_suffix('"'));
                let special = |text: &str| {
                    text.chars()
                        .any(|c| !c.is_alphanumeric() && !c.is_whitespace())
                };
                fields.push((inner.is_some(), inner.is_some_and(special)));
            }
            field.clear();
        } else {
            field.push(character);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_header_rows_and_quotes() {
        let columns = ["A".to_owned(), "B".to_owned()];
        let check = |text: &str, quoted, special| {
            let shape = Shape {
                columns: &columns,
                rows: 1.0,
                delimiter: ',',
                quoted,
                special,
            };
            csv(text, &shape).met
        };
        assert!(check("A,B\n1,2", false, false));
        assert!(check("```csv\nA,B\n1,\"2 & 3\"\n```", false, true));
        assert!(check("\"A\",\"B\"\n\"1\",\"2, 3\"", true, false));
        assert!(!check("A,B\n1,2", true, false));
        assert!(!check("A,B\n1,2,3", false, false));
        assert!(!check("", false, false));
    }
}
