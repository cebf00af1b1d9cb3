//! Which schema a database has, for commands that do not migrate it.

use super::sql::{self, Connection};
use super::{postgres, sqlite};

/// One of the statements, for the database of the connection.
fn statement(
    connection: &Connection,
    sqlite: &'static str,
    postgres: &'static str,
) -> &'static str {
    match connection {
        Connection::Sqlite(_) => sqlite,
        Connection::Postgres(_) => postgres,
    }
}

/// Whether the database has no tables.
pub(crate) async fn is_empty(connection: &mut Connection) -> Result<bool, sqlx::Error> {
    let sql = statement(connection, sqlite::IS_EMPTY, postgres::IS_EMPTY);
    sql::query_scalar(sql).fetch_one(connection).await
}

pub(crate) async fn has_table(
    connection: &mut Connection,
    table: &str,
) -> Result<bool, sqlx::Error> {
    let sql = statement(connection, sqlite::HAS_TABLE, postgres::HAS_TABLE);
    let query = sql::query_scalar(sql).bind(table);
    query.fetch_one(connection).await
}

pub(crate) async fn has_column(
    connection: &mut Connection,
    table: &str,
    column: &str,
) -> Result<bool, sqlx::Error> {
    let sql = statement(connection, sqlite::HAS_COLUMN, postgres::HAS_COLUMN);
    let query = sql::query_scalar(sql).bind(table).bind(column);
    query.fetch_one(connection).await
}

/// Problems in the structure of the database, at most `limit`. A server checks its files itself.
pub(crate) async fn integrity_problems(
    connection: &mut Connection,
    limit: u32,
) -> Result<Vec<String>, sqlx::Error> {
    match connection {
        Connection::Sqlite(_) => sqlite::integrity_problems(connection, limit).await,
        Connection::Postgres(_) => Ok(Vec::new()),
    }
}
