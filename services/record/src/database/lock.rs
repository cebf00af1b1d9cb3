//! Locks that all nodes share, on a database that several nodes may use.

use super::DatabaseError;
use super::location::Location;
use super::postgres;
use super::sql::{self, Connection};

/// A lock, which ends with its connection.
#[must_use]
pub(crate) struct Lock(Connection);

impl Lock {
    /// Waits for the lock of operators; `None` if no other node uses the database.
    pub(super) async fn operators(location: &Location) -> Result<Option<Self>, DatabaseError> {
        let Location::Postgres(_) = location else {
            return Ok(None);
        };
        let mut connection = location.connect_once().await?;
        sql::query(postgres::LOCK_OPERATORS)
            .execute(&mut connection)
            .await?;
        Ok(Some(Self(connection)))
    }

    /// The lock of the node that deletes; `Ok(None)` if another node has it.
    pub(super) async fn retention(location: &Location) -> Result<Option<Self>, DatabaseError> {
        let mut connection = location.connect_once().await?;
        let is_locked: bool = sql::query_scalar(postgres::TRY_LOCK_RETENTION)
            .fetch_one(&mut connection)
            .await?;
        Ok(is_locked.then_some(Self(connection)))
    }

    /// Ends the lock.
    pub(crate) async fn release(self) {
        // The server ends the lock when the connection is gone, however it ends.
        let _ = self.0.close().await;
    }
}
