//! Checks the structure of a database, and which schema it has.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

/// Problems in the structure of the database, at most `limit`.
pub(crate) async fn integrity_problems(
    connection: &mut SqliteConnection,
    limit: u32,
) -> Result<Vec<String>, sqlx::Error> {
    let pragma = format!("pragma integrity_check({limit})");
    let rows = sqlx::query(sqlx::AssertSqlSafe(pragma))
        .fetch_all(connection)
        .await?;
    let problems: Vec<String> = rows
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<_, _>>()?;
    Ok(problems
        .into_iter()
        .filter(|problem| problem != "ok")
        .collect())
}

/// Whether the database has no tables.
pub(crate) async fn is_empty(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select not exists (select 1 from sqlite_schema)")
        .fetch_one(connection)
        .await
}

pub(crate) async fn has_table(
    connection: &mut SqliteConnection,
    table: &str,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select exists (select 1 from sqlite_schema where name = $1)")
        .bind(table)
        .fetch_one(connection)
        .await
}

pub(crate) async fn has_column(
    connection: &mut SqliteConnection,
    table: &str,
    column: &str,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select exists (select 1 from pragma_table_info($1) where name = $2)")
        .bind(table)
        .bind(column)
        .fetch_one(connection)
        .await
}
