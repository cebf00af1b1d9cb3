//! Opens images and checks them before any statement runs. An image may be hostile: it is read
//! within limits on steps and memory, and no view, generated column, trigger or check of its schema
//! is evaluated.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, Result, ffi};

use crate::empty::empty;
use crate::guard::{MAX_VALUE_BYTES_WITH_JSON, quoted};
use crate::meter::Meter;
use crate::system::memory;

/// Step limit of reading an image: a constant plus steps for each byte. A value takes at least one
/// byte, unless its column was added to a table that already had rows.
const BASE_STEPS: u64 = 50_000_000;
const STEPS_PER_BYTE: u64 = 4;

/// Step limit of checking pages, in addition to one step for each page. A page has at least 512
/// bytes.
const PAGE_STEPS: u64 = 1_000_000;
const MIN_PAGE_BYTES: u64 = 512;

/// Maximum bytes of names and statements in a schema, about a thousand times as many as in real
/// databases.
const MAX_SCHEMA_BYTES: usize = 16 << 20;

/// Opens an image read-only, checks its schema and passes it to `work`, all within limits on steps
/// and memory.
///
/// # Errors
/// If the image is not a database, or reading it exceeds the limits.
pub(crate) fn read<T>(
    image: &[u8],
    work: impl FnOnce(Connection, Meter) -> Result<T>,
) -> Result<T, String> {
    let open = || -> Result<T> {
        let mut connection = empty()?;
        connection.deserialize_read_exact("main", image, image.len(), true)?;
        // With this setting SQLite reads pages in place instead of copying them.
        connection.pragma_update(
            None,
            "mmap_size",
            i64::try_from(image.len()).unwrap_or(i64::MAX),
        )?;
        let meter = Meter::default();
        meter.begin(steps(image));
        meter.attach(&mut connection)?;
        check_schema(&connection)?;
        work(connection, meter)
    };
    memory::with_limit(memory::DATABASE_BYTES, open).map_err(|error| error_message(image, &error))
}

/// Opens an image for writing and checks its schema and, if `rows_are_read`, its pages. Statements
/// only run on images built from such connections, so their pages are not checked again.
///
/// # Errors
/// If the image is not a database or corrupt, or reading it exceeds the limits.
pub(crate) fn write(image: &[u8], rows_are_read: bool) -> Result<Connection, String> {
    let mut copy = image.to_vec();
    // A file in WAL mode cannot be opened from memory. Its log is not available, so the file is
    // opened without it.
    if let Some(formats) = copy.get_mut(18..20) {
        formats.fill(1);
    }
    if is_truncated(&copy) {
        return Err(
            "the image is truncated: its header declares more pages than the image contains"
                .to_owned(),
        );
    }
    let open = || -> Result<Connection> {
        let mut connection = empty()?;
        connection.deserialize_read_exact("main", copy.as_slice(), copy.len(), false)?;
        let meter = Meter::default();
        meter.begin(steps(image));
        meter.attach(&mut connection)?;
        check_schema(&connection)?;
        if rows_are_read {
            meter.begin(PAGE_STEPS + image.len() as u64 / MIN_PAGE_BYTES);
            check_pages(&connection)?;
        }
        Ok(connection)
    };
    open().map_err(|error| error_message(image, &error))
}

/// Limit on the steps of reading an image.
pub(crate) fn steps(image: &[u8]) -> u64 {
    BASE_STEPS + STEPS_PER_BYTE * image.len() as u64
}

/// Whether the header of an SQLite file declares more pages than the file contains.
fn is_truncated(image: &[u8]) -> bool {
    let number = |at: usize| {
        image.get(at..at + 4).map(|bytes| {
            bytes
                .iter()
                .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
        })
    };
    let page = image
        .get(16..18)
        .map_or(0, |bytes| u64::from(bytes[0]) << 8 | u64::from(bytes[1]));
    // 65,536 does not fit into two bytes and is encoded as 1.
    let page = if page == 1 { 65_536 } else { page };
    // The number of pages is valid only if it was updated with the last change.
    let is_valid = number(24) == number(92);
    is_valid && number(28).is_some_and(|pages| pages * page > image.len() as u64)
}

/// Checks the encoding and the size of the schema. SQLite allows names of any bytes, but names that
/// are not UTF-8 cannot be reported.
fn check_schema(connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare("select name, sql from sqlite_schema")?;
    let mut rows = statement.query([])?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        for column in 0..2_usize {
            bytes += match row.get_ref(column)? {
                ValueRef::Null => 0,
                ValueRef::Text(text) if std::str::from_utf8(text).is_ok() => text.len(),
                _ => return Err(corrupt("its schema is not UTF-8")),
            };
        }
        if bytes > MAX_SCHEMA_BYTES {
            return Err(corrupt(&format!(
                "its schema has more than {MAX_SCHEMA_BYTES} bytes"
            )));
        }
    }
    Ok(())
}

/// Checks that no page is referenced twice. Otherwise a few kilobytes could represent any number of
/// rows, and a single instruction may visit all of them.
fn check_pages(connection: &Connection) -> Result<()> {
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    let mut check = connection.prepare("pragma quick_check")?;
    let found = check.query_row([], |row| row.get::<_, String>(0));
    connection.pragma_update(None, "ignore_check_constraints", false)?;
    match found {
        Ok(found) => match found.lines().find(|line| line.starts_with("Tree ")) {
            Some(message) => Err(corrupt(message)),
            None => Ok(()),
        },
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OutOfMemory) => Err(error),
        // Pages are checked first and are valid. The check of rows may fail, because it is not
        // needed.
        Err(_) => Ok(()),
    }
}

/// Names of the tables that have pages, in the order of creation. Virtual tables have none.
pub(crate) fn tables(connection: &Connection) -> Result<Vec<String>> {
    let sql = "select name from sqlite_schema where type = 'table' and rootpage > 0 and \
               substr(name, 1, 7) <> 'sqlite_' order by rowid";
    connection
        .prepare(sql)?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// The length of the longest value that a table stores, in bytes; 0 if no value can be longer than
/// statements may produce anyway.
pub(crate) fn longest_value(connection: &Connection, image: usize) -> Result<usize> {
    if image <= MAX_VALUE_BYTES_WITH_JSON {
        return Ok(0);
    }
    let mut longest = 0;
    // Virtual generated columns are omitted, because reading them would compute them.
    let mut stored =
        connection.prepare("select name from pragma_table_xinfo(?) where hidden in (0, 3)")?;
    for table in tables(connection)? {
        let names: Vec<String> = stored
            .query_map([&table], |row| row.get(0))?
            .collect::<Result<_>>()?;
        let lengths: Vec<String> = names
            .iter()
            .map(|name| format!("max(octet_length({}))", quoted(name)))
            .collect();
        if lengths.is_empty() {
            continue;
        }
        let sql = format!("select {} from {}", lengths.join(", "), quoted(&table));
        let found: Vec<Option<i64>> = connection.query_row(&sql, [], |row| {
            (0..lengths.len()).map(|column| row.get(column)).collect()
        })?;
        let longest_in_table = found.into_iter().flatten().max().unwrap_or_default();
        longest = longest.max(usize::try_from(longest_in_table).unwrap_or_default());
    }
    Ok(longest)
}

fn corrupt(what: &str) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(what.to_owned()))
}

/// The message for an error of an image.
fn error_message(image: &[u8], error: &Error) -> String {
    match (error.sqlite_error_code(), error) {
        (Some(ErrorCode::NotADatabase), _) => "the image is not an SQLite database".to_owned(),
        (Some(ErrorCode::OperationInterrupted), _) => {
            format!(
                "reading the database takes more than {} steps",
                steps(image)
            )
        }
        (Some(ErrorCode::OutOfMemory), _) => {
            format!(
                "reading the database takes more than {} bytes of memory",
                memory::DATABASE_BYTES
            )
        }
        (_, Error::SqliteFailure(_, Some(message)) | Error::SqlInputError { msg: message, .. }) => {
            format!("the database cannot be read: {message}")
        }
        _ => format!("the database cannot be read: {error}"),
    }
}
