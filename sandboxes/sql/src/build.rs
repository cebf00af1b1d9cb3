//! Scripts and rows made into an image.

use assay_cell::query::{BUILD_STEPS, Build, MAX_IMAGE, TableRows, Value};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Batch, Connection, Error, ErrorCode, ToSql, params_from_iter};

use crate::meter::{Meter, TICK};
use crate::system::{self, memory};
use crate::{connection, guard};

/// Makes an image, or says what is wrong with the scripts.
pub(crate) fn build(build: &Build) -> Result<Vec<u8>, String> {
    system::seed();
    let image = memory::within(memory::OF_DATABASE, || within_memory(build))?;
    if image.len() > MAX_IMAGE {
        return Err(format!("the database has {} bytes; at most {MAX_IMAGE} are taken", image.len()));
    }
    Ok(image)
}

fn within_memory(build: &Build) -> Result<Vec<u8>, String> {
    let mut connection = connection::empty().map_err(|error| error.to_string())?;
    if let Some(image) = &build.image {
        let mut image = image.to_vec();
        // Written with a log beside it, which is not here: what is in the file counts.
        if let Some(formats) = image.get_mut(18..20) {
            formats.fill(1);
        }
        let image = image.as_slice();
        if is_cut_off(image) {
            return Err("the image is cut off: it says that it has more pages than are there".to_owned());
        }
        // Pages are allocated as the database grows: it is written to.
        connection.deserialize_read_exact("main", image, image.len(), false).map_err(|error| error.to_string())?;
        bound_steps(&connection).map_err(|error| error.to_string())?;
        guard::tables(&connection).map_err(|error| format!("the image is no SQLite database: {error}"))?;
        // A base of other rows was made here.
        if build.rows.is_none() {
            check_pages(&connection)?;
        }
    }
    let noted = watch(&connection).map_err(|error| error.to_string())?;
    let said = |error: Error| match noted.take_denied() {
        Some(what) => format!("{what} is not part of a database: {error}"),
        None => explained(&error),
    };
    for script in &build.scripts {
        run_script(&connection, script).map_err(said)?;
    }
    if !connection.is_autocommit() {
        connection.execute_batch("commit").map_err(said)?;
    }
    if let Some(rows) = &build.rows {
        connection = with_rows(&connection, rows).map_err(said)?;
    }
    // It asks a pragma how large the database is.
    guard::lift(&connection).map_err(|error| error.to_string())?;
    connection.serialize("main").map(|data| data.to_vec()).map_err(said)
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

/// Rejects an image in which a page is referred to twice: a few such pages, each in the next, hold more rows than can be read, and
/// counting them is one step.
fn check_pages(connection: &Connection) -> Result<(), String> {
    // The pages are checked before the rows, whose number is then bounded by that of the pages.
    connection.progress_handler(0, None::<fn() -> bool>).map_err(|error| error.to_string())?;
    let checked: Result<String, Error> = connection.query_row("pragma quick_check(1)", [], |row| row.get(0));
    let reason = match checked {
        // Other messages are about rows that break a rule of the schema.
        Ok(message) if message.starts_with("*** in database") => message.lines().nth(1).unwrap_or_default().to_owned(),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => error.to_string(),
        Ok(_) | Err(_) => return Ok(()),
    };
    Err(format!("the image is damaged: {reason}"))
}

/// Bounds what scripts do, and forbids what makes no database.
fn watch(connection: &Connection) -> Result<guard::Noted, Error> {
    bound_steps(connection)?;
    guard::install_for_building(connection)
}

fn bound_steps(connection: &Connection) -> Result<(), Error> {
    let meter = Meter::default();
    meter.begin(BUILD_STEPS);
    let tick = i32::try_from(TICK).unwrap_or(i32::MAX);
    connection.progress_handler(tick, Some(move || meter.tick()))
}

/// Runs the statements of a script one by one; results of queries among them are nobody's.
fn run_script(connection: &Connection, script: &str) -> Result<(), Error> {
    if script.contains('\0') {
        let message = "the script holds a character of code 0".to_owned();
        return Err(Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR), Some(message)));
    }
    let mut statements = Batch::new(connection, script);
    while let Some(mut statement) = statements.next()? {
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
    }
    Ok(())
}

fn explained(error: &Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => format!("its scripts take more than {BUILD_STEPS} steps"),
        Some(ErrorCode::OutOfMemory) => {
            format!("its scripts take more than {} bytes of memory", memory::OF_DATABASE)
        }
        _ => match error {
            Error::SqliteFailure(_, Some(message)) => message.clone(),
            Error::SqlInputError { msg, sql, offset, .. } => {
                let at = usize::try_from(*offset).unwrap_or_default();
                let near: String = sql.get(at..).unwrap_or_default().chars().take(60).collect();
                format!("{msg}, at `{near}`")
            }
            other => other.to_string(),
        },
    }
}

/// A database of the same schema with other rows; those that break a rule of the schema are left out.
fn with_rows(base: &Connection, tables: &[TableRows]) -> Result<Connection, Error> {
    let mut connection = connection::empty()?;
    watch(&connection)?;
    let statements = |kinds: &str| -> Result<Vec<String>, Error> {
        let written = format!(
            "select sql from sqlite_schema where type in ({kinds}) and sql is not null and substr(name, 1, 7) <> 'sqlite_' \
             order by rowid"
        );
        base.prepare(&written)?.query_map([], |row| row.get(0))?.collect()
    };
    let transaction = connection.transaction()?;
    for statement in statements("'table'")? {
        transaction.execute_batch(&without_row_order(&statement))?;
    }
    // A unique index is a rule for rows, so indexes come before them; triggers would write rows of their own, so they come after.
    for statement in statements("'index', 'view'")? {
        transaction.execute_batch(&statement)?;
    }
    for TableRows { table, columns, rows } in tables.iter().filter(|table| !table.columns.is_empty()) {
        let names: Vec<String> = columns.iter().map(|column| guard::quoted(column)).collect();
        let places = vec!["?"; names.len()].join(",");
        let table = guard::quoted(table);
        let mut insert =
            transaction.prepare(&format!("insert or ignore into {table} ({}) values ({places})", names.join(",")))?;
        for row in rows.rows() {
            insert.execute(params_from_iter(row.into_iter().map(Bound)))?;
        }
    }
    for statement in statements("'trigger'")? {
        transaction.execute_batch(&statement)?;
    }
    transaction.commit()?;
    Ok(connection)
}

/// The statement that makes a table, without the one kind of key that rows are kept in the order of: they are to stay as they come.
fn without_row_order(statement: &str) -> String {
    let lower = statement.to_ascii_lowercase();
    let Some(start) = lower.find("integer primary key") else { return statement.to_owned() };
    let end = start + "integer primary key".len();
    let (mut rest, mut lower_rest) = (&statement[end..], &lower[end..]);
    for word in [" asc", " autoincrement"] {
        if lower_rest.starts_with(word) {
            (rest, lower_rest) = (&rest[word.len()..], &lower_rest[word.len()..]);
        }
    }
    format!("{}int not null primary key{rest}", &statement[..start])
}

/// A cell as a parameter.
struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(integer) => ValueRef::Integer(integer),
            Value::Real(real) => ValueRef::Real(real),
            Value::Text(text) => ValueRef::Text(text),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
