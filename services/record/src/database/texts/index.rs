//! Where the index of texts is: in a file beside a database on SQLite, and in tables of a database
//! on PostgreSQL.

use std::collections::HashSet;
use std::path::PathBuf;

use futures::stream::BoxStream;

use crate::database::indexed::{Expression, GradeTexts};
use crate::database::sql::{self, Connection, Pool};
use crate::database::{DatabaseError, Location, postgres, sqlite};
use crate::retention_step::StepOutcome;
use crate::text_query::TextQuery;

/// The index.
pub(crate) struct TextIndex {
    writer: Pool,
    readers: Pool,
    /// Its file; `None` in memory or on a server.
    path: Option<PathBuf>,
    /// Whether it exists only in the connection that writes.
    in_memory: bool,
}

impl TextIndex {
    /// Opens or creates the index of a database, with at most as many connections that read on
    /// SQLite.
    pub(super) async fn open(database: &Location, readers: u32) -> Result<Self, sqlx::Error> {
        let (writer, readers, path) = match database {
            Location::Sqlite(location) => {
                let location = location.texts();
                let writer = sqlite::texts::open(&location).await?;
                let readers = sqlite::connect_readers(&location, &writer, readers);
                let pools = (Pool::Sqlite(writer), Pool::Sqlite(readers));
                (pools.0, pools.1, location.path)
            }
            Location::Postgres(location) => (
                Pool::Postgres(postgres::connect_texts(location)),
                Pool::Postgres(postgres::connect_readers(
                    location,
                    postgres::texts::READERS,
                )),
                None,
            ),
        };
        Ok(Self {
            writer,
            readers,
            path,
            in_memory: database.is_in_memory(),
        })
    }

    /// Begins a transaction that writes. There is one at a time, of all nodes.
    pub(super) async fn begin(&self) -> Result<Connection, DatabaseError> {
        let mut connection = self.writer.acquire().await?;
        if let Err(error) = begin(&mut connection).await {
            self.discard(connection).await;
            return Err(error.into());
        }
        Ok(connection)
    }

    /// Commits the transaction, or rolls it back if something failed in it.
    pub(super) async fn end<T>(
        &self,
        mut connection: Connection,
        done: Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let ended = match done {
            Ok(done) => sql::query("commit")
                .execute(&mut connection)
                .await
                .map(|_| done)
                .map_err(DatabaseError::from),
            Err(error) => Err(error),
        };
        if ended.is_err() {
            self.discard(connection).await;
        }
        ended
    }

    /// Closes a connection whose transaction failed. A database in memory exists only as long as
    /// its connection, which is rolled back.
    async fn discard(&self, mut connection: Connection) {
        // The error that led here is the one to report.
        if self.in_memory {
            let _ = sql::query("rollback").execute(&mut connection).await;
        } else {
            let _ = connection.close().await;
        }
    }

    /// A connection that reads.
    pub(crate) async fn reader(&self) -> Result<Connection, DatabaseError> {
        self.readers
            .acquire()
            .await
            .map_err(DatabaseError::TextIndex)
    }

    /// Bytes of the index and of the log of its file.
    pub(crate) async fn bytes(&self) -> Result<u64, DatabaseError> {
        let mut reader = self.reader().await?;
        let bytes = match &reader {
            Connection::Sqlite(_) => sqlite::texts::bytes(&mut reader, self.path.as_deref()).await,
            Connection::Postgres(_) => postgres::texts::bytes(&mut reader).await,
        };
        bytes.map_err(DatabaseError::of_texts)
    }

    /// Merges some segments in which rows were deleted; `done` if there is nothing to merge.
    /// PostgreSQL does so by itself.
    pub(crate) async fn merge(&self, pages: u32) -> Result<StepOutcome, DatabaseError> {
        if matches!(self.writer, Pool::Postgres(_)) {
            return Ok(StepOutcome::DONE);
        }
        let mut connection = self.begin().await?;
        let merged = sqlite::texts::merge(&mut connection, pages).await;
        self.end(connection, merged).await
    }

    /// Returns some free pages to the file system.
    pub(crate) async fn return_pages(&self, pages: u32) -> Result<StepOutcome, DatabaseError> {
        if matches!(self.writer, Pool::Postgres(_)) {
            return Ok(StepOutcome::DONE);
        }
        let mut connection = self.begin().await?;
        let returned = sqlite::return_pages(&mut connection, pages).await;
        self.end(connection, returned).await
    }

    /// Empties the write-ahead log of the file, unless a reader prevents it.
    pub(crate) async fn truncate_log(&self) -> Result<(), DatabaseError> {
        if self.path.is_some() {
            sqlite::truncate_log(&self.writer).await?;
        }
        Ok(())
    }

    /// Closes every connection.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

async fn begin(connection: &mut Connection) -> Result<(), sqlx::Error> {
    let (begin, lock) = match connection {
        Connection::Sqlite(_) => (sqlite::BEGIN_WRITING, None),
        Connection::Postgres(_) => (postgres::BEGIN_WRITING, Some(postgres::LOCK_TEXTS)),
    };
    sql::query(begin).execute(connection).await?;
    if let Some(lock) = lock {
        sql::query(lock).execute(connection).await?;
    }
    Ok(())
}

/// The keys from `first` to `last` that are in the index, at most `limit`.
pub(super) async fn indexed_keys(
    connection: &mut Connection,
    first: i64,
    last: i64,
    limit: u32,
) -> Result<HashSet<i64>, DatabaseError> {
    let select = match connection {
        Connection::Sqlite(_) => sqlite::texts::KEYS,
        Connection::Postgres(_) => postgres::texts::KEYS,
    };
    let keys: Vec<i64> = sql::query_scalar(select)
        .bind(first)
        .bind(last)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    Ok(keys.into_iter().collect())
}

/// Inserts the texts of grades.
pub(super) async fn insert(
    connection: &mut Connection,
    grades: &[GradeTexts],
) -> Result<(), DatabaseError> {
    match connection {
        Connection::Sqlite(_) => sqlite::texts::insert(connection, grades).await,
        Connection::Postgres(_) => postgres::texts::insert(connection, grades).await,
    }
}

/// Deletes grades by their keys.
pub(super) async fn delete(
    connection: &mut Connection,
    keys: impl IntoIterator<Item = i64>,
) -> Result<(), DatabaseError> {
    let delete = match connection {
        Connection::Sqlite(_) => sqlite::texts::DELETE,
        Connection::Postgres(_) => postgres::texts::DELETE,
    };
    for key in keys {
        sql::query(delete).bind(key).execute(connection).await?;
    }
    Ok(())
}

/// Composes the expression of a search. `None` if no grade matches.
pub(crate) async fn expression(
    connection: &mut Connection,
    query: &TextQuery,
) -> Result<Option<Expression>, DatabaseError> {
    match connection {
        Connection::Sqlite(_) => sqlite::texts::expression(connection, query).await,
        Connection::Postgres(_) => Ok(postgres::texts::expression(query)),
    }
}

/// The keys of the grades that match a search, from `from` downward.
pub(crate) fn matching<'c>(
    connection: &'c mut Connection,
    expression: &Expression,
    from: i64,
) -> BoxStream<'c, Result<i64, sqlx::Error>> {
    match connection {
        Connection::Sqlite(_) => sqlite::texts::matching(connection, expression, from),
        Connection::Postgres(_) => postgres::texts::matching(connection, expression, from),
    }
}
