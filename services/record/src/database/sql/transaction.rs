//! Transactions that write.

use futures::future::{BoxFuture, FutureExt as _};

use super::connection::{Connection, Handle, Pool};
use super::query::query;
use crate::database::{postgres, sqlite};

impl Connection {
    /// Begins a transaction that reads one state of the database, by plain statements.
    pub(crate) async fn begin_reading(&mut self) -> Result<(), sqlx::Error> {
        let begin = match self {
            Self::Sqlite(_) => "begin",
            Self::Postgres(_) => postgres::BEGIN_READING,
        };
        query(begin).execute(self).await?;
        Ok(())
    }

    /// Begins a transaction that writes, while no other does, by plain statements: the caller ends
    /// it. The transactions of the driver assume that SQLite never ends one by itself.
    pub(crate) async fn begin_writing(&mut self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(_) => {
                query(sqlite::BEGIN_WRITING).execute(self).await?;
            }
            Self::Postgres(_) => {
                query(postgres::BEGIN_WRITING).execute(self).await?;
                query(postgres::LOCK_WRITERS).execute(self).await?;
            }
        }
        Ok(())
    }
}

impl Pool {
    /// A connection with a transaction that writes, while no other does.
    pub(crate) fn begin_writing(&self) -> BoxFuture<'_, Result<Connection, sqlx::Error>> {
        let begun = async move {
            Ok(match self {
                Self::Sqlite(pool) => {
                    let transaction = pool.begin_with(sqlite::BEGIN_WRITING).await?;
                    Connection::Sqlite(Handle::Transaction(transaction))
                }
                Self::Postgres(pool) => {
                    let transaction = pool.begin_with(postgres::BEGIN_WRITING).await?;
                    let mut connection = Connection::Postgres(Handle::Transaction(transaction));
                    query(postgres::LOCK_WRITERS)
                        .execute(&mut connection)
                        .await?;
                    connection
                }
            })
        };
        begun.boxed()
    }
}
