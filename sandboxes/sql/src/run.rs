//! Runs one statement on one image.

use assay_base::truncate::with_ellipsis;
use assay_worker::query::{End, Limits, Ran, ReadOrder, Rows, Value};
use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Error, ErrorCode, Statement, StatementStatus};

use crate::connection::OpenImage;
use crate::guard::{MAX_NAME_BYTES, SHORT_VALUE_BYTES};
use crate::system::{self, memory};

/// Maximum length of an error message, in bytes. Some messages quote the statement or the schema.
const MAX_MESSAGE_BYTES: usize = 8_000;

/// Runs a statement with a budget of steps. A step costs more if values are long. A statement
/// therefore runs with short values first; if that fails because a value is too long, it runs again
/// with long values and fewer steps.
pub(crate) fn run(
    image: &OpenImage,
    sql: &str,
    steps: u64,
    limits: Limits,
    order: ReadOrder,
) -> Ran {
    // The rows of a copy are already in reverse order.
    let scans_in_reverse = order != ReadOrder::Stored && !image.is_reversed_copy;
    let reversed = image.connection.set_db_config(
        DbConfig::SQLITE_DBCONFIG_REVERSE_SCANORDER,
        scans_in_reverse,
    );
    if let Err(error) = reversed {
        return Ran::ended(end_of(image, &error));
    }
    let once = |steps: u64, values: Values| {
        let _random = system::seeded();
        image.meter.begin(steps);
        image.authorizer_log.clear();
        memory::with_limit(limits.memory_bytes, || {
            within_memory(image, sql, limits, values)
        })
    };
    if limits.long_values || steps <= limits.long_value_steps {
        return once(steps, Values::Long);
    }
    match once(steps, Values::Short) {
        ran if ran.end == End::TooLong => once(limits.long_value_steps, Values::Long),
        ran => ran,
    }
}

/// The length of values that a statement may compute.
#[derive(Clone, Copy, PartialEq)]
enum Values {
    /// At most [`SHORT_VALUE_BYTES`], and no JSON.
    Short,
    /// As long as the limits allow.
    Long,
}

fn within_memory(image: &OpenImage, sql: &str, limits: Limits, values: Values) -> Ran {
    if let Some(end) = malformed(sql) {
        return Ran::ended(end);
    }
    let longest = image
        .authorizer_log
        .max_value_bytes(true, image.longest_value);
    if let Err(error) = limit_values(image, longest) {
        return Ran::ended(end_of(image, &error));
    }
    let mut statements = Batch::new(&image.connection, sql);
    let mut statement = match statements.next() {
        Ok(Some(statement)) => statement,
        Ok(None) => return Ran::ended(End::Nothing),
        Err(error) => return Ran::ended(end_of(image, &error)),
    };
    // Further statements are not allowed, even if they do not compile.
    if !matches!(statements.next(), Ok(None)) {
        return Ran::ended(End::Several);
    }
    if !statement.readonly() || statement.column_count() == 0 || statement.is_explain() != 0 {
        return Ran::ended(End::NotAQuery);
    }
    let log = &image.authorizer_log;
    let max_value_bytes = match values {
        Values::Short if log.reads_json() => return Ran::ended(End::TooLong),
        Values::Short => SHORT_VALUE_BYTES,
        Values::Long => log.max_value_bytes(limits.long_values, image.longest_value),
    };
    if let Err(error) = limit_values(image, max_value_bytes) {
        return Ran::ended(end_of(image, &error));
    }
    execute(image, &mut statement, limits, 0)
}

/// Runs a prepared statement. `before` are the instructions of earlier ones within its budget.
pub(crate) fn execute(
    image: &OpenImage,
    statement: &mut Statement<'_>,
    limits: Limits,
    before: u64,
) -> Ran {
    if statement.parameter_count() > 0 {
        return Ran::ended(End::Error(
            "the statement has parameters, but no values are bound".to_owned(),
        ));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    if columns.iter().map(String::len).sum::<usize>() > MAX_NAME_BYTES {
        return Ran::ended(End::TooLong);
    }
    let (end, rows) = match collect(statement, limits) {
        Ok(Some(rows)) => (End::Rows, rows),
        Ok(None) => (End::TooManyRows, Rows::default()),
        Err(error) => (end_of(image, &error), Rows::default()),
    };
    let instructions =
        u64::try_from(statement.get_status(StatementStatus::VmStep)).unwrap_or_default();
    let steps = before
        .saturating_add(instructions)
        .saturating_add(image.meter.charged());
    // The budget is checked once in a number of instructions, so the last row may be returned after
    // it was exceeded.
    let (end, rows) = if end == End::Rows && steps > image.meter.budget() {
        (End::OutOfSteps, Rows::default())
    } else {
        (end, rows)
    };
    let steps = steps.min(image.meter.budget());
    Ran {
        end,
        columns,
        rows,
        steps,
    }
}

/// The end of a text that is not SQL at all.
pub(crate) fn malformed(sql: &str) -> Option<End> {
    let is_malformed = sql.contains('\0');
    is_malformed.then(|| End::Syntax("the statement contains a NUL character".to_owned()))
}

/// Limits the length of values, in bytes.
pub(crate) fn limit_values(image: &OpenImage, max_value_bytes: usize) -> Result<(), Error> {
    image.meter.set_max_value_bytes(max_value_bytes);
    image
        .connection
        .set_limit(
            Limit::SQLITE_LIMIT_LENGTH,
            i32::try_from(max_value_bytes).unwrap_or(i32::MAX),
        )
        .map(drop)
}

/// Collects all rows; `None` if there are more than allowed.
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
pub(crate) fn end_of(image: &OpenImage, error: &Error) -> End {
    if let Some(what) = image.authorizer_log.take_denied() {
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
        Some(ErrorCode::AuthorizationForStatementDenied) => End::Denied("this action".to_owned()),
        _ if is_syntax(&message) => End::Syntax(with_ellipsis(message, MAX_MESSAGE_BYTES)),
        _ => End::Error(with_ellipsis(message, MAX_MESSAGE_BYTES)),
    }
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
