//! Runs one statement as a cursor, which the server restricts to queries, in a read-only
//! transaction.

use std::time::Duration;

use assay_worker::query::{End, Limits, Ran, Rows};
use futures::TryStreamExt;
use sqlx::{
    AssertSqlSafe, Column, Connection, Either, Error, Executor, PgConnection, SqlSafeStr,
    Statement, raw_sql,
};

use super::ends::{end_of, is_lost};
use super::opening::{Opening, opening};
use super::values::cells;

/// Longest statement, in bytes.
const LONGEST: usize = 100_000;

/// Time after the statement's limit before a connection is abandoned.
const GRACE: Duration = Duration::from_secs(5);

/// Settings of the planner that change the order of rows if the statement does not define it.
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

/// Runs a statement on a connection of its own.
///
/// # Errors
/// If the connection is lost, or the server is at fault otherwise.
pub(super) async fn run(connection: &mut PgConnection, query: Query<'_>) -> Result<Ran, Error> {
    if query.sql.len() > LONGEST {
        return Ok(ended(End::TooLong));
    }
    if query.sql.contains('\0') {
        return Ok(ended(End::Syntax(
            "the statement holds a character of code 0".to_owned(),
        )));
    }
    match tokio::time::timeout(query.time + GRACE, collect(connection, query)).await {
        Ok(Ok(ran)) => Ok(ran),
        Ok(Err(error)) if is_lost(&error) => Err(error),
        Ok(Err(error)) => Ok(ended(end_of(&error))),
        Err(_) => Ok(ended(End::OutOfSteps)),
    }
}

/// Closes a connection: with a message if the server waits for one.
pub(super) async fn leave(connection: PgConnection, ran: &Ran) {
    // If rows are still being sent, only closing the connection stops them.
    if !matches!(ran.end, End::TooManyRows | End::OutOfSteps) {
        let _ = connection.close().await;
    }
}

async fn collect(connection: &mut PgConnection, query: Query<'_>) -> Result<Ran, Error> {
    let opening = opening(query.sql);
    if opening == Opening::Nothing {
        return Ok(ended(End::Nothing));
    }
    let time = query.time.as_millis();
    let reverse = if query.reverse { REVERSE } else { "" };
    let begin = format!("begin read only; set local statement_timeout = {time}; {reverse}");
    raw_sql(AssertSqlSafe(begin))
        .execute(&mut *connection)
        .await?;
    if let Opening::Other(end) = opening {
        // Check that it is a single statement.
        (&mut *connection)
            .prepare(AssertSqlSafe(query.sql).into_sql_str())
            .await?;
        return Ok(ended(end));
    }
    // A message of the extended protocol contains one statement: nothing can follow the cursor.
    let declare = format!("declare assay no scroll cursor for\n{}", query.sql);
    sqlx::query(AssertSqlSafe(declare))
        .persistent(false)
        .execute(&mut *connection)
        .await?;
    // A message of the simple protocol returns texts. The server collects the rows before it
    // sends them, so that none is larger than its limit on temporary files.
    let fetch = format!(
        "fetch forward {} from assay",
        query.limits.rows.saturating_add(1)
    );
    let (mut columns, mut rows) = (Vec::new(), Rows::default());
    {
        let mut stream = raw_sql(AssertSqlSafe(fetch)).fetch_many(&mut *connection);
        while let Some(message) = stream.try_next().await? {
            let Either::Right(row) = message else {
                continue;
            };
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
