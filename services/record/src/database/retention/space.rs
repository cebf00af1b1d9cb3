//! Returns free pages to the file system.

use sqlx::sqlite::SqliteConnection;

use crate::database::DatabaseError;
use crate::retention_step::StepOutcome;

/// Returns at most `pages` free pages to the file system; `done` if none is left.
pub(super) async fn vacuum(
    connection: &mut SqliteConnection,
    pages: u32,
) -> Result<StepOutcome, DatabaseError> {
    let before = free_pages(connection).await?;
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "pragma incremental_vacuum({pages})"
    )))
    .fetch_all(&mut *connection)
    .await?;
    let after = free_pages(connection).await?;
    // A database that was not created with incremental vacuum keeps its free pages.
    Ok(if after == 0 || after >= before {
        StepOutcome::DONE
    } else {
        StepOutcome::MORE
    })
}

async fn free_pages(connection: &mut SqliteConnection) -> Result<i64, DatabaseError> {
    Ok(sqlx::query_scalar("pragma freelist_count")
        .fetch_one(connection)
        .await?)
}
