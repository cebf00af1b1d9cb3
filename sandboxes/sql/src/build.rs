//! Builds images from scripts and rows.

use assay_base::truncated;
use assay_worker::query::{BUILD_STEPS, Build, MAX_IMAGE, TableRows, Value};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Batch, Connection, Error, ErrorCode, ToSql, params_from_iter};

use crate::ddl::without_row_order;
use crate::empty::empty;
use crate::meter::Meter;
use crate::system::{self, memory};
use crate::{guard, image};

/// Builds an image, or describes the error of a script.
pub(crate) fn build(build: &Build) -> Result<Vec<u8>, String> {
    let _random = system::seeded();
    let image = memory::with_limit(memory::DATABASE_BYTES, || within_memory(build))?;
    if image.len() > MAX_IMAGE {
        return Err(format!(
            "the database has {} bytes; at most {MAX_IMAGE} are allowed",
            image.len()
        ));
    }
    Ok(image)
}

fn within_memory(build: &Build) -> Result<Vec<u8>, String> {
    let mut connection = match &build.image {
        // If all rows are replaced, the rows of the image are not read.
        Some(image) => image::write(image, build.rows.is_none())?,
        None => empty().map_err(|error| error.to_string())?,
    };
    let authorizer_log = restrict(&mut connection).map_err(|error| error.to_string())?;
    let describe = |error: Error| match authorizer_log.take_denied() {
        Some(what) => format!("{what} is not allowed in a script: {error}"),
        None => error_message(&error),
    };
    for script in &build.scripts {
        run_script(&connection, script).map_err(describe)?;
    }
    if !connection.is_autocommit() {
        connection.execute_batch("commit").map_err(describe)?;
    }
    if let Some(rows) = &build.rows {
        connection = with_rows(&connection, rows).map_err(describe)?;
    }
    serialized(connection).map_err(describe)
}

/// The image of a database that was built.
pub(crate) fn serialized(mut connection: Connection) -> Result<Vec<u8>, Error> {
    // Serialising reads the size of the database by a pragma, which the authorizer would ignore.
    guard::uninstall(&mut connection)?;
    connection.serialize("main").map(|data| data.to_vec())
}

/// Limits the steps of scripts, and denies actions that are not needed to build a database.
fn restrict(connection: &mut Connection) -> Result<guard::AuthorizerLog, Error> {
    let meter = Meter::default();
    meter.begin(BUILD_STEPS);
    meter.attach(connection)?;
    guard::install_for_building(connection)
}

/// Runs the statements of a script one by one; results of queries are ignored.
fn run_script(connection: &Connection, script: &str) -> Result<(), Error> {
    if script.contains('\0') {
        let message = "the script contains a NUL character".to_owned();
        return Err(Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
            Some(message),
        ));
    }
    let mut statements = Batch::new(connection, script);
    while let Some(mut statement) = statements.next()? {
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
    }
    Ok(())
}

/// The message for an error of a script.
fn error_message(error: &Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            format!("the scripts take more than {BUILD_STEPS} steps")
        }
        Some(ErrorCode::OutOfMemory) => {
            format!(
                "the scripts take more than {} bytes of memory",
                memory::DATABASE_BYTES
            )
        }
        _ => match error {
            Error::SqliteFailure(_, Some(message)) => message.clone(),
            Error::SqlInputError {
                msg, sql, offset, ..
            } => {
                let at = usize::try_from(*offset).unwrap_or_default();
                let near = truncated(sql.get(at..).unwrap_or_default(), 60);
                format!("{msg}, at `{near}`")
            }
            other => other.to_string(),
        },
    }
}

/// Builds a database with the same schema and different rows. Rows that violate a constraint are
/// omitted.
fn with_rows(base: &Connection, tables: &[TableRows]) -> Result<Connection, Error> {
    with_schema(base, |connection| {
        tables
            .iter()
            .filter(|table| !table.columns.is_empty())
            .try_for_each(|table| insert(connection, table))
    })
}

fn insert(connection: &Connection, rows: &TableRows) -> Result<(), Error> {
    let names = rows.columns.iter().map(|column| guard::quoted(column));
    let names: Vec<String> = names.collect();
    let placeholders = vec!["?"; names.len()].join(",");
    let mut insert = connection.prepare(&format!(
        "insert or ignore into {} ({}) values ({placeholders})",
        guard::quoted(&rows.table),
        names.join(",")
    ))?;
    for row in rows.rows.rows() {
        insert.execute(params_from_iter(row.into_iter().map(Parameter)))?;
    }
    Ok(())
}

/// Builds a database with the same schema and the rows that `fill` inserts, which keep their order.
pub(crate) fn with_schema(
    base: &Connection,
    fill: impl FnOnce(&Connection) -> Result<(), Error>,
) -> Result<Connection, Error> {
    let mut connection = empty()?;
    restrict(&mut connection)?;
    let statements = |kinds: &str| -> Result<Vec<String>, Error> {
        let query = format!(
            "select sql from sqlite_schema where type in ({kinds}) and sql is not null and \
             substr(name, 1, 7) <> 'sqlite_' order by rowid"
        );
        base.prepare(&query)?
            .query_map([], |row| row.get(0))?
            .collect()
    };
    let transaction = connection.transaction()?;
    for statement in statements("'table'")? {
        transaction.execute_batch(&without_row_order(&statement))?;
    }
    // Indexes are created before the rows are inserted, because unique indexes constrain them.
    // Triggers are created afterwards, because they could add rows.
    for statement in statements("'index', 'view'")? {
        transaction.execute_batch(&statement)?;
    }
    fill(&transaction)?;
    for statement in statements("'trigger'")? {
        transaction.execute_batch(&statement)?;
    }
    transaction.commit()?;
    Ok(connection)
}

/// A cell as a parameter of a statement.
struct Parameter<'a>(Value<'a>);

impl ToSql for Parameter<'_> {
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
