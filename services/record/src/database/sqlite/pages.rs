//! The size of the database and its free pages.

use crate::database::DatabaseError;
use crate::database::rows::count;
use crate::database::size::Size;
use crate::database::sql::{self, Connection};
use crate::retention_step::StepOutcome;
use sqlx::AssertSqlSafe;

/// Value of `pragma auto_vacuum` of a database that can return free pages.
const INCREMENTAL: i64 = 2;

/// The size of the database.
pub(crate) async fn size(connection: &mut Connection) -> Result<Size, DatabaseError> {
    let page = count(number(connection, "pragma page_size").await?);
    let pages = count(number(connection, "pragma page_count").await?);
    Ok(Size {
        file_bytes: pages * page,
        free_bytes: count(free_pages(connection).await?) * page,
        shrinks: number(connection, "pragma auto_vacuum").await? == INCREMENTAL,
    })
}

/// Returns at most `pages` free pages to the file system; `done` if none is left.
pub(crate) async fn return_pages(
    connection: &mut Connection,
    pages: u32,
) -> Result<StepOutcome, DatabaseError> {
    let before = free_pages(connection).await?;
    sql::query(AssertSqlSafe(format!("pragma incremental_vacuum({pages})")))
        .fetch_all(connection)
        .await?;
    let after = free_pages(connection).await?;
    // A database that was not created with incremental vacuum keeps its free pages.
    Ok(if after == 0 || after >= before {
        StepOutcome::DONE
    } else {
        StepOutcome::MORE
    })
}

async fn free_pages(connection: &mut Connection) -> Result<i64, DatabaseError> {
    number(connection, "pragma freelist_count").await
}

async fn number(connection: &mut Connection, pragma: &'static str) -> Result<i64, DatabaseError> {
    Ok(sql::query_scalar(pragma).fetch_one(connection).await?)
}
