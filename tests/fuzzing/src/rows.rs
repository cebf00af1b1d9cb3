//! Rows of datasets in every format.
//!
//! Properties: reading terminates; rows are returned in file order; rows are unchanged by a round
//! trip; broken files are reported; memory is bounded by the size of the file.

use std::path::PathBuf;

use assay_check::fuzzing::{ReadRow, rows};
use serde_json::Value;

/// Most rows that are read from a Parquet file: a few bytes can encode any number of equal rows.
const MOST_ROWS: usize = 1_000;

/// Most bytes of the rows of a short file.
const MOST_BYTES: usize = 64 << 20;

thread_local! {
    /// A folder of this thread for the file.
    static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// Reads the bytes as separated values, as JSON and as JSON lines.
pub fn text(bytes: &[u8]) {
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    for (extension, delimiter) in [("csv", ','), ("tsv", '\t')] {
        let Some(read) = read(extension, bytes) else {
            continue;
        };
        check_order(&read, lines);
        let columns: Vec<_> = read
            .iter()
            .filter_map(|row| row.content.as_ref().ok())
            .collect();
        // A `task` column is parsed as JSON if it is JSON.
        let Some((first, None)) = columns.first() else {
            continue;
        };
        let names: Vec<&str> = first.keys().map(String::as_str).collect();
        let mut written = separated(names.iter().copied(), delimiter);
        for (row, _) in &columns {
            assert!(
                row.values().all(Value::is_string) && row.keys().eq(first.keys()),
                "{row:?}"
            );
            written.push_str(&separated(
                row.values().filter_map(Value::as_str),
                delimiter,
            ));
        }
        let again =
            self::read(extension, written.as_bytes()).expect("rows that were written are read");
        let again: Vec<_> = again
            .iter()
            .filter_map(|row| row.content.as_ref().ok())
            .collect();
        assert_eq!(again, columns, "round trip of {written:?}");
    }
    for extension in ["json", "jsonl"] {
        let Some(read) = read(extension, bytes) else {
            continue;
        };
        check_order(&read, bytes.len() as u64 + 1);
        let columns: Vec<_> = read
            .iter()
            .filter_map(|row| row.content.as_ref().ok())
            .collect();
        let written: String = columns
            .iter()
            .map(|(row, _)| format!("{}\n", Value::Object(row.clone())))
            .collect();
        let again =
            self::read("jsonl", written.as_bytes()).expect("rows that were written are read");
        assert_eq!(again.len(), columns.len());
        for (same, (row, _)) in again.iter().zip(columns) {
            let Ok((same, _)) = &same.content else {
                panic!("{same:?} was a row")
            };
            assert!(
                is_same(&Value::Object(same.clone()), &Value::Object(row.clone())),
                "round trip: {row:?} {same:?}"
            );
        }
    }
}

/// Whether two values are equal. Parsing a float with many digits may be off by one unit in the
/// last place.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (
                one.as_f64().unwrap_or_default(),
                other.as_f64().unwrap_or_default(),
            );
            (one - other).abs() <= one.abs() * 4.0 * f64::EPSILON + f64::MIN_POSITIVE
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| is_same(value, other)))
        }
        _ => one == other,
    }
}

/// Reads the bytes as Parquet.
pub fn parquet(bytes: &[u8]) {
    let Some(read) = read("parquet", bytes) else {
        return;
    };
    check_order(&read, MOST_ROWS as u64);
    let size: usize = read
        .iter()
        .map(|row| format!("{:?}", row.content).len())
        .sum();
    assert!(size <= MOST_BYTES, "{size} bytes");
}

fn read(extension: &str, bytes: &[u8]) -> Option<Vec<ReadRow>> {
    let path = path(extension);
    std::fs::write(&path, bytes).expect("a file can be written");
    rows(&path).ok().map(|rows| rows.take(MOST_ROWS).collect())
}

fn path(extension: &str) -> PathBuf {
    FOLDER.with(|folder| folder.path().join("rows").with_extension(extension))
}

/// Asserts that rows are in order. Rows separated by a lone carriage return have the same line
/// number.
fn check_order(rows: &[ReadRow], most: u64) {
    assert!(
        rows.windows(2).all(|pair| pair[0].number <= pair[1].number),
        "{rows:?}"
    );
    assert!(
        rows.iter().all(|row| (1..=most).contains(&row.number)),
        "{rows:?}"
    );
}

fn separated<'v>(values: impl Iterator<Item = &'v str>, delimiter: char) -> String {
    let quoted: Vec<_> = values
        .map(|value| format!("\"{}\"", value.replace('"', "\"\"")))
        .collect();
    quoted.join(&delimiter.to_string()) + "\n"
}
