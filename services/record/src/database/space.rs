//! The space that the database uses, and the return of what is free.

use super::size::Size;
use super::sql::Connection;
use super::{postgres, sqlite};
use crate::database::DatabaseError;
use crate::retention_step::StepOutcome;

pub(super) async fn size(connection: &mut Connection) -> Result<Size, DatabaseError> {
    match connection {
        Connection::Sqlite(_) => sqlite::size(connection).await,
        Connection::Postgres(_) => postgres::size(connection).await,
    }
}

/// Returns at most `pages` free pages to the file system; `done` if none is left, or if the server
/// does that.
pub(super) async fn return_pages(
    connection: &mut Connection,
    pages: u32,
) -> Result<StepOutcome, DatabaseError> {
    match connection {
        Connection::Sqlite(_) => sqlite::return_pages(connection, pages).await,
        Connection::Postgres(_) => Ok(StepOutcome::DONE),
    }
}
