//! Images and what is read of them before any statement runs. An image may be made to harm: it is read within steps and memory, and
//! nothing of its schema is evaluated, no view, generated column, trigger or check.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, Result, ffi};

use crate::connection;
use crate::guard::{LONGEST_WITH_JSON, quoted};
use crate::meter::Meter;
use crate::system::memory;

/// Steps that reading an image may take: a number of them, and more for each of its bytes. A value takes a byte at least, unless a
/// column was added to a table that had rows.
const STEPS: u64 = 50_000_000;
const STEPS_A_BYTE: u64 = 4;

/// Steps that looking at pages may take. There is one for each page, and none has fewer than 512 bytes.
const PAGE_STEPS: u64 = 1_000_000;
const SMALLEST_PAGE: u64 = 512;

/// Bytes of names and statements that a schema may have. Those of real databases have a thousandth of it.
const SCHEMA: usize = 16 << 20;

/// Opens an image that is only read, checks its schema and does `work` with it, all within steps and memory.
///
/// # Errors
/// When the image is no database or takes too much to read: what is wrong with it.
pub(crate) fn read<T>(image: &[u8], work: impl FnOnce(Connection, Meter) -> Result<T>) -> Result<T, String> {
    let opened = || -> Result<T> {
        let mut connection = connection::empty()?;
        connection.deserialize_read_exact("main", image, image.len(), true)?;
        // Pages are then read where they are, not copied.
        connection.pragma_update(None, "mmap_size", i64::try_from(image.len()).unwrap_or(i64::MAX))?;
        let meter = Meter::default();
        meter.begin(steps(image));
        meter.watch(&mut connection)?;
        check_schema(&connection)?;
        work(connection, meter)
    };
    memory::within(memory::OF_DATABASE, opened).map_err(|error| explained(image, &error))
}

/// Opens an image that is written to, and checks its schema. `rows_are_read` has its pages checked as well, once for all: what
/// statements run on is made from here.
///
/// # Errors
/// When the image is no database, is corrupt or takes too much to read: what is wrong with it.
pub(crate) fn write(image: &[u8], rows_are_read: bool) -> Result<Connection, String> {
    let mut copy = image.to_vec();
    // Written with a log beside it, which is not here: what is in the file counts.
    if let Some(formats) = copy.get_mut(18..20) {
        formats.fill(1);
    }
    if is_cut_off(&copy) {
        return Err("the image is cut off: it says that it has more pages than are there".to_owned());
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

/// Whether the head of an SQLite file speaks of more pages than there are.
fn is_cut_off(image: &[u8]) -> bool {
    let number =
        |at: usize| image.get(at..at + 4).map(|bytes| bytes.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte)));
    let page = image.get(16..18).map_or(0, |bytes| u64::from(bytes[0]) << 8 | u64::from(bytes[1]));
    // 65,536 does not fit and is written as 1.
    let page = if page == 1 { 65_536 } else { page };
    // The number of pages counts only when it was written with the last change.
    let counts = number(24) == number(92);
    counts && number(28).is_some_and(|pages| pages * page > image.len() as u64)
}

/// Reads the schema. SQLite takes names of any bytes, but a name that is not UTF-8 cannot be told to anybody.
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

/// Checks that no page belongs to two trees or twice to one. Else a few kilobytes could stand for any number of rows, through which
/// single instructions walk.
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
        // Pages come first and were well. Rows come next, which may fail to compute, and need not be looked at to the end.
        Err(_) => Ok(()),
    }
}

/// Names of the tables that hold rows, in the order they were made. Virtual ones have no pages.
pub(crate) fn tables(connection: &Connection) -> Result<Vec<String>> {
    let sql = "select name from sqlite_schema where type = 'table' and rootpage > 0 and substr(name, 1, 7) <> 'sqlite_' \
               order by rowid";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// The longest value that a table stores, in bytes; 0 where none can be longer than statements may make anyhow.
pub(crate) fn longest_cell(connection: &Connection, image: usize) -> Result<usize> {
    if image <= LONGEST_WITH_JSON {
        return Ok(0);
    }
    let mut longest = 0;
    // What a generated column does not store would be computed here.
    let mut stored = connection.prepare("select name from pragma_table_xinfo(?) where hidden in (0, 3)")?;
    for table in tables(connection)? {
        let names: Vec<String> = stored.query_map([&table], |row| row.get(0))?.collect::<Result<_>>()?;
        let lengths: Vec<String> = names.iter().map(|name| format!("max(octet_length({}))", quoted(name))).collect();
        if lengths.is_empty() {
            continue;
        }
        let sql = format!("select {} from {}", lengths.join(", "), quoted(&table));
        let found: Vec<Option<i64>> =
            connection.query_row(&sql, [], |row| (0..lengths.len()).map(|column| row.get(column)).collect())?;
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
        (Some(ErrorCode::NotADatabase), _) => "the image is no SQLite database".to_owned(),
        (Some(ErrorCode::OperationInterrupted), _) => {
            format!("the database takes more than {} steps to read", steps(image))
        }
        (Some(ErrorCode::OutOfMemory), _) => format!("the database takes more than {} bytes of memory to read", memory::OF_DATABASE),
        (_, Error::SqliteFailure(_, Some(message)) | Error::SqlInputError { msg: message, .. }) => {
            format!("the database cannot be read: {message}")
        }
        _ => format!("the database cannot be read: {error}"),
    }
}
