//! Runs one statement on one image.

use assay_worker::query::{End, Limits, Ran, Rows, Value};
use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Error, ErrorCode, Statement, StatementStatus};

use crate::connection::Opened;
use crate::guard::LONGEST_NAMES;
use crate::system::{self, memory};

/// Longest error message, in bytes: some messages quote the statement or the schema.
const LONGEST_MESSAGE: usize = 8_000;

/// Runs a statement within a number of steps.
pub(crate) fn run(opened: &Opened, sql: &str, steps: u64, limits: Limits, reverse: bool) -> Ran {
    system::seed();
    opened.meter.begin(steps);
    opened.noted.clear();
    opened
        .meter
        .allow(opened.noted.longest(true, opened.longest_cell));
    let reversed = opened
        .connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_REVERSE_SCANORDER, reverse);
    match reversed {
        Ok(_) => memory::within(limits.memory_bytes, || within_memory(opened, sql, limits)),
        Err(error) => Ran::ended(end_of(opened, &error)),
    }
}

fn within_memory(opened: &Opened, sql: &str, limits: Limits) -> Ran {
    if sql.contains('\0') {
        return Ran::ended(End::Syntax(
            "the statement holds a character of code 0".to_owned(),
        ));
    }
    if let Err(error) = bound_values(opened, true) {
        return Ran::ended(end_of(opened, &error));
    }
    let mut statements = Batch::new(&opened.connection, sql);
    let mut statement = match statements.next() {
        Ok(Some(statement)) => statement,
        Ok(None) => return Ran::ended(End::Nothing),
        Err(error) => return Ran::ended(end_of(opened, &error)),
    };
    // Only the first statement is compiled; any further text counts, whether it compiles or not.
    if !matches!(statements.next(), Ok(None)) {
        return Ran::ended(End::Several);
    }
    if !statement.readonly() || statement.column_count() == 0 || statement.is_explain() != 0 {
        return Ran::ended(End::NotAQuery);
    }
    if statement.parameter_count() > 0 {
        return Ran::ended(End::Error(
            "the statement has a parameter that nobody gives a value".to_owned(),
        ));
    }
    if let Err(error) = bound_values(opened, limits.long_values) {
        return Ran::ended(end_of(opened, &error));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    if columns.iter().map(String::len).sum::<usize>() > LONGEST_NAMES {
        return Ran::ended(End::TooLong);
    }
    let (end, rows) = match collect(&mut statement, limits) {
        Ok(Some(rows)) => (End::Rows, rows),
        Ok(None) => (End::TooManyRows, Rows::default()),
        Err(error) => (end_of(opened, &error), Rows::default()),
    };
    let instructions =
        u64::try_from(statement.get_status(StatementStatus::VmStep)).unwrap_or_default();
    let steps = instructions.saturating_add(opened.meter.charged());
    // The meter is checked periodically, so the last row may arrive between two checks.
    let (end, rows) = if end == End::Rows && steps > opened.meter.budget() {
        (End::OutOfSteps, Rows::default())
    } else {
        (end, rows)
    };
    let steps = steps.min(opened.meter.budget());
    Ran {
        end,
        columns,
        rows,
        steps,
    }
}

/// Limits the length of values by the functions that the statement calls.
fn bound_values(opened: &Opened, long_values: bool) -> Result<(), Error> {
    let longest = opened.noted.longest(long_values, opened.longest_cell);
    opened.meter.allow(longest);
    opened
        .connection
        .set_limit(
            Limit::SQLITE_LIMIT_LENGTH,
            i32::try_from(longest).unwrap_or(i32::MAX),
        )
        .map(drop)
}

/// All rows; `None` if there are more than allowed.
fn collect(statement: &mut Statement<'_>, limits: Limits) -> Result<Option<Rows>, Error> {
    let width = statement.column_count();
    let mut packed = Rows::new(width);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let cells = (0..width).map(|column| match row.get_ref(column) {
            Ok(ValueRef::Integer(integer)) => Value::Integer(integer),
            Ok(ValueRef::Real(real)) => Value::Real(real),
            Ok(ValueRef::Text(text)) => Value::Text(text),
            Ok(ValueRef::Blob(bytes)) => Value::Blob(bytes),
            Ok(ValueRef::Null) | Err(_) => Value::Null,
        });
        packed.push(cells);
        if packed.len() as u64 > limits.rows || packed.bytes() as u64 > limits.bytes {
            return Ok(None);
        }
    }
    Ok(Some(packed))
}

/// Interprets an error of SQLite as the end of the statement.
fn end_of(opened: &Opened, error: &Error) -> End {
    if let Some(what) = opened.noted.take_denied() {
        return End::Denied(what);
    }
    let message = match error {
        Error::SqliteFailure(_, Some(message)) | Error::SqlInputError { msg: message, .. } => {
            message.clone()
        }
        other => other.to_string(),
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => End::OutOfSteps,
        Some(ErrorCode::OutOfMemory) => End::OutOfMemory,
        Some(ErrorCode::TooBig) => End::TooLong,
        Some(ErrorCode::AuthorizationForStatementDenied) => {
            End::Denied("what no query needs".to_owned())
        }
        _ if is_syntax(&message) => End::Syntax(shortened(message)),
        _ => End::Error(shortened(message)),
    }
}

fn shortened(mut message: String) -> String {
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        message.push('…');
    }
    message
}

/// Whether a message of SQLite reports a syntax error.
fn is_syntax(message: &str) -> bool {
    let signs = [
        "syntax error",
        "incomplete input",
        "unrecognized token",
        "parser stack overflow",
    ];
    signs.iter().any(|sign| message.contains(sign))
}
