//! Opens images and checks them before any statement runs. An image may be hostile: it is read
//! within limits on steps and memory, and no view, generated column, trigger or check of its schema
//! is evaluated.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, Result, ffi};

use crate::connection;
use crate::guard::{LONGEST_WITH_JSON, quoted};
use crate::meter::Meter;
use crate::system::memory;

/// Step limit of reading an image: a constant, and more for each byte. A value takes at least
/// one byte, unless its column was added to a table that had rows.
const STEPS: u64 = 50_000_000;
const STEPS_A_BYTE: u64 = 4;

/// Step limit of checking pages. There is one for each page, and a page has at least 512
/// bytes.
const PAGE_STEPS: u64 = 1_000_000;
const SMALLEST_PAGE: u64 = 512;

/// Most bytes of names and statements in a schema. Those of real databases have a thousandth of
/// this.
const SCHEMA: usize = 16 << 20;

/// Opens an image read-only, checks its schema and does `work` with it, all within limits on steps
/// and memory.
///
/// # Errors
/// If the image is not a database, or reading it exceeds the limits.
pub(crate) fn read<T>(
    image: &[u8],
    work: impl FnOnce(Connection, Meter) -> Result<T>,
) -> Result<T, String> {
    let opened = || -> Result<T> {
        let mut connection = connection::empty()?;
        connection.deserialize_read_exact("main", image, image.len(), true)?;
        // SQLite then reads pages in place instead of copying them.
        connection.pragma_update(
            None,
            "mmap_size",
            i64::try_from(image.len()).unwrap_or(i64::MAX),
        )?;
        let meter = Meter::default();
        meter.begin(steps(image));
        meter.watch(&mut connection)?;
        check_schema(&connection)?;
        work(connection, meter)
    };
    memory::within(memory::OF_DATABASE, opened).map_err(|error| explained(image, &error))
}

/// Opens an image for writing, and checks its schema; with `rows_are_read` also its pages. Images
/// on which statements run are made from it, so this check is enough.
///
/// # Errors
/// If the image is not a database or corrupt, or reading it exceeds the limits.
pub(crate) fn write(image: &[u8], rows_are_read: bool) -> Result<Connection, String> {
    let mut copy = image.to_vec();
    // A file in WAL mode cannot be opened from memory: its log is not here, so only the file
    // counts.
    if let Some(formats) = copy.get_mut(18..20) {
        formats.fill(1);
    }
    if is_cut_off(&copy) {
        return Err("the image is truncated: its header claims more pages than it has".to_owned());
    }
    let opened = || -> Result<Connection> {
        let mut connection = connection::empty()?;
        connection.deserialize_read_exact("main", copy.as_slice(), copy.len(), false)?;
        let meter = Meter::default();
        meter.begin(steps(image));
        meter.watch(&mut connection)?;
        check_schema(&connection)?;
        if rows_are_read {
            meter.begin(PAGE_STEPS + image.len() as u64 / SMALLEST_PAGE);
            check_pages(&connection)?;
        }
        Ok(connection)
    };
    opened().map_err(|error| explained(image, &error))
}

fn steps(image: &[u8]) -> u64 {
    STEPS + STEPS_A_BYTE * image.len() as u64
}

/// Whether the header of an SQLite file claims more pages than there are.
fn is_cut_off(image: &[u8]) -> bool {
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
    // 65,536 does not fit and is written as 1.
    let page = if page == 1 { 65_536 } else { page };
    // The number of pages is valid only if it was written with the last change.
    let counts = number(24) == number(92);
    counts && number(28).is_some_and(|pages| pages * page > image.len() as u64)
}

/// Reads the schema. SQLite allows names of any bytes, but names that are not UTF-8 cannot be
/// reported.
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
        if bytes > SCHEMA {
            return Err(corrupt(&format!("its schema has more than {SCHEMA} bytes")));
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
            Some(flaw) => Err(corrupt(flaw)),
            None => Ok(()),
        },
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OutOfMemory) => Err(error),
        // Pages are checked first and were good. Checking rows may fail, and need not be complete.
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

/// The longest value that a table stores, in bytes; 0 if none can be longer than statements may
/// produce anyway.
pub(crate) fn longest_cell(connection: &Connection, image: usize) -> Result<usize> {
    if image <= LONGEST_WITH_JSON {
        return Ok(0);
    }
    let mut longest = 0;
    // Virtual generated columns are left out, because reading them would compute them.
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
        let most = found.into_iter().flatten().max().unwrap_or_default();
        longest = longest.max(usize::try_from(most).unwrap_or_default());
    }
    Ok(longest)
}

fn corrupt(what: &str) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(what.to_owned()))
}

/// What is wrong with an image.
fn explained(image: &[u8], error: &Error) -> String {
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
                memory::OF_DATABASE
            )
        }
        (_, Error::SqliteFailure(_, Some(message)) | Error::SqlInputError { msg: message, .. }) => {
            format!("the database cannot be read: {message}")
        }
        _ => format!("the database cannot be read: {error}"),
    }
}
