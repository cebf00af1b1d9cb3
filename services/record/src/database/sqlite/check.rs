//! Checks the structure of a database, and which schema it has.

use sqlx::AssertSqlSafe;

use crate::database::sql::{self, Connection};

/// Whether the database has no tables.
pub(crate) const IS_EMPTY: &str = "select not exists (select 1 from sqlite_schema)";

/// Whether it has a table of this name.
pub(crate) const HAS_TABLE: &str = "select exists (select 1 from sqlite_schema where name = $1)";

/// Whether the table has a column of this name.
pub(crate) const HAS_COLUMN: &str =
    "select exists (select 1 from pragma_table_info($1) where name = $2)";

/// Problems in the structure of the database, at most `limit`.
pub(crate) async fn integrity_problems(
    connection: &mut Connection,
    limit: u32,
) -> Result<Vec<String>, sqlx::Error> {
    let pragma = format!("pragma integrity_check({limit})");
    let problems: Vec<String> = sql::query_scalar(AssertSqlSafe(pragma))
        .fetch_all(connection)
        .await?;
    Ok(problems
        .into_iter()
        .filter(|problem| problem != "ok")
        .collect())
}
