//! Parses the cells of rows from the text format of the server.

use assay_worker::query::Value;
use sqlx::postgres::PgRow;
use sqlx::{Row, ValueRef};

/// A cell that may own its bytes.
enum Cell<'a> {
    Plain(Value<'a>),
    Bytes(Vec<u8>),
}

/// Types that are not returned as text, by their OIDs in `pg_type`.
const BOOL: u32 = 16;
const BYTEA: u32 = 17;
const INTEGERS: [u32; 4] = [20, 21, 23, 26];
const FLOATS: [u32; 2] = [700, 701];
const NUMERIC: u32 = 1700;

/// Passes the cells of a row to `push`.
///
/// # Errors
/// If a cell cannot be decoded.
pub(super) fn cells(
    row: &PgRow,
    push: impl FnOnce(&mut dyn Iterator<Item = Value<'_>>),
) -> Result<(), sqlx::Error> {
    let mut cells = Vec::with_capacity(row.len());
    for column in 0..row.len() {
        let raw = row.try_get_raw(column)?;
        cells.push(if raw.is_null() {
            Cell::Plain(Value::Null)
        } else {
            let oid = raw.type_info().oid().map_or(0, |oid| oid.0);
            cell(oid, raw.as_bytes().map_err(sqlx::Error::Decode)?)
        });
    }
    push(&mut cells.iter().map(|cell| match cell {
        Cell::Plain(value) => *value,
        Cell::Bytes(bytes) => Value::Blob(bytes),
    }));
    Ok(())
}

fn cell(oid: u32, written: &[u8]) -> Cell<'_> {
    let text = std::str::from_utf8(written).unwrap_or_default();
    let read = match oid {
        BOOL => Some(Cell::Plain(Value::Integer(i64::from(text == "t")))),
        BYTEA => bytes(text).map(Cell::Bytes),
        NUMERIC => numeric(text).map(Cell::Plain),
        oid if INTEGERS.contains(&oid) => text
            .parse()
            .ok()
            .map(|integer| Cell::Plain(Value::Integer(integer))),
        oid if FLOATS.contains(&oid) => {
            text.parse().ok().map(|real| Cell::Plain(Value::Real(real)))
        }
        _ => None,
    };
    read.unwrap_or(Cell::Plain(Value::Text(written)))
}

/// A number without a fraction is an integer if it fits into 64 bits; any other number is real.
fn numeric(text: &str) -> Option<Value<'_>> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.bytes().all(|digit| digit == b'0')
        && let Ok(integer) = whole.parse()
    {
        return Some(Value::Integer(integer));
    }
    text.parse().ok().map(Value::Real)
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let digit = |letter: u8| {
        char::from(letter)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    digits
        .chunks(2)
        .map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(oid: u32, text: &str) -> String {
        match cell(oid, text.as_bytes()) {
            Cell::Plain(value) => value.to_string(),
            Cell::Bytes(bytes) => Value::Blob(&bytes).to_string(),
        }
    }

    #[test]
    fn reads_values_by_type() {
        assert_eq!([read(BOOL, "t"), read(BOOL, "f")], ["1", "0"]);
        assert_eq!(
            [read(BYTEA, "\\x00fF"), read(BYTEA, "\\x")],
            ["X'00FF'", "X''"]
        );
        assert_eq!(
            [read(20, "-9223372036854775808"), read(26, "4294967295")],
            ["-9223372036854775808", "4294967295"]
        );
        assert_eq!(
            [read(701, "NaN"), read(700, "-Infinity"), read(701, "0.1")],
            ["NaN", "-inf", "0.1"]
        );
        assert_eq!(
            [
                read(NUMERIC, "1.00"),
                read(NUMERIC, "-0.5"),
                read(NUMERIC, "NaN")
            ],
            ["1", "-0.5", "NaN"]
        );
        assert_eq!(read(NUMERIC, "9223372036854775808"), "9.223372036854776e18");
        assert_eq!(
            [read(1082, "2024-02-29"), read(1007, "{1,NULL}")],
            ["'2024-02-29'", "'{1,NULL}'"]
        );
    }
}
