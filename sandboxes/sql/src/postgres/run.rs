//! Runs one statement as a cursor in a read-only transaction. The server allows only queries as
//! cursors.

use std::time::Duration;

use assay_worker::query::{End, Limits, Ran, Rows};
use futures::TryStreamExt;
use sqlx::{
    AssertSqlSafe, Column, Connection, Either, Error, Executor, PgConnection, SqlSafeStr,
    Statement, raw_sql,
};

use super::classify::{StatementKind, classify};
use super::errors::{end_of, is_lost};
use super::values::cells;

/// Maximum length of a statement, in bytes.
const MAX_STATEMENT_BYTES: usize = 100_000;

/// Additional time after the time limit of a statement before its connection is abandoned.
const GRACE: Duration = Duration::from_secs(5);

/// Settings that select plans with another order of rows where the statement leaves the order
/// undefined.
const REVERSE: &str = "set local enable_seqscan = off; set local enable_hashagg = off; set local enable_hashjoin = off;
    set local enable_incremental_sort = off; set local enable_memoize = off";

/// A statement and its limits.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) sql: &'a str,
    pub(super) limits: Limits,
    pub(super) reverse: bool,
    pub(super) time: Duration,
}

/// A statement that ended without rows.
pub(super) fn ended(end: End) -> Ran {
    Ran {
        end,
        columns: Vec::new(),
        rows: Rows::default(),
        steps: 0,
    }
}

/// Runs a statement. The connection must not be used for other statements.
///
/// # Errors
/// If the connection is lost, or the server is at fault.
pub(super) async fn run(connection: &mut PgConnection, query: Query<'_>) -> Result<Ran, Error> {
    if query.sql.len() > MAX_STATEMENT_BYTES {
        return Ok(ended(End::TooLong));
    }
    if query.sql.contains('\0') {
        return Ok(ended(End::Syntax(
            "the statement contains a NUL character".to_owned(),
        )));
    }
    match tokio::time::timeout(query.time + GRACE, collect(connection, query)).await {
        Ok(Ok(ran)) => Ok(ran),
        Ok(Err(error)) if is_lost(&error) => Err(error),
        Ok(Err(error)) => Ok(ended(end_of(&error))),
        Err(_) => Ok(ended(End::OutOfSteps)),
    }
}

/// Closes a connection, with a message if the server waits for one.
pub(super) async fn close_after(connection: PgConnection, ran: &Ran) {
    // If the server still sends rows, only dropping the connection stops it.
    if !matches!(ran.end, End::TooManyRows | End::OutOfSteps) {
        let _ = connection.close().await;
    }
}

async fn collect(connection: &mut PgConnection, query: Query<'_>) -> Result<Ran, Error> {
    let kind = classify(query.sql);
    if kind == StatementKind::Nothing {
        return Ok(ended(End::Nothing));
    }
    let time = query.time.as_millis();
    let reverse = if query.reverse { REVERSE } else { "" };
    let begin = format!("begin read only; set local statement_timeout = {time}; {reverse}");
    raw_sql(AssertSqlSafe(begin))
        .execute(&mut *connection)
        .await?;
    if let StatementKind::Other(end) = kind {
        // Fails unless the text is a single valid statement.
        (&mut *connection)
            .prepare(AssertSqlSafe(query.sql).into_sql_str())
            .await?;
        return Ok(ended(end));
    }
    // A message of the extended protocol contains a single statement, so that no other can follow
    // it.
    let declare = format!("declare assay no scroll cursor for\n{}", query.sql);
    sqlx::query(AssertSqlSafe(declare))
        .persistent(false)
        .execute(&mut *connection)
        .await?;
    // The simple protocol returns values as text. The server collects all rows before it sends
    // them, so their size is bounded by its limit on temporary files.
    let fetch = format!(
        "fetch forward {} from assay",
        query.limits.rows.saturating_add(1)
    );
    let (mut columns, mut rows) = (Vec::new(), Rows::default());
    {
        let mut stream = raw_sql(AssertSqlSafe(fetch)).fetch_many(&mut *connection);
        while let Some(item) = stream.try_next().await? {
            let Either::Right(row) = item else { continue };
            if rows.is_empty() {
                columns = names(sqlx::Row::columns(&row));
                rows = Rows::new(columns.len());
            }
            cells(&row, |cells| rows.push(cells))?;
            if rows.len() as u64 > query.limits.rows || rows.bytes() as u64 > query.limits.bytes {
                return Ok(ended(End::TooManyRows));
            }
        }
    }
    if rows.is_empty() {
        let cursor = (&mut *connection)
            .prepare("fetch next from assay".into_sql_str())
            .await?;
        columns = names(cursor.columns());
        rows = Rows::new(columns.len());
    }
    Ok(Ran {
        end: End::Rows,
        columns,
        rows,
        steps: 0,
    })
}

fn names<C: Column>(columns: &[C]) -> Vec<String> {
    columns
        .iter()
        .map(|column| column.name().to_owned())
        .collect()
}
