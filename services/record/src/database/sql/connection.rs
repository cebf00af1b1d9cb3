//! Connections and pools of either database.

use std::ops::{Deref, DerefMut};

use futures::future::{BoxFuture, FutureExt as _};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPool, Postgres};
use sqlx::sqlite::{Sqlite, SqlitePool};
use sqlx::{Database, Transaction};

use crate::database::postgres;

/// A connection to the database, which may have a transaction.
pub(crate) enum Connection {
    Sqlite(Handle<Sqlite>),
    Postgres(Handle<Postgres>),
}

/// How a connection is held.
pub(crate) enum Handle<D: Database> {
    /// It belongs to no pool.
    Single(Box<D::Connection>),
    /// It is returned to its pool.
    Pooled(PoolConnection<D>),
    /// It is returned after a rollback, unless the transaction is committed.
    Transaction(Transaction<'static, D>),
}

impl<D: Database> Deref for Handle<D> {
    type Target = D::Connection;

    fn deref(&self) -> &D::Connection {
        match self {
            Self::Single(connection) => connection,
            Self::Pooled(connection) => connection,
            Self::Transaction(transaction) => transaction,
        }
    }
}

impl<D: Database> DerefMut for Handle<D> {
    fn deref_mut(&mut self) -> &mut D::Connection {
        match self {
            Self::Single(connection) => connection,
            Self::Pooled(connection) => connection,
            Self::Transaction(transaction) => transaction,
        }
    }
}

impl<D: Database> Handle<D> {
    async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Transaction(transaction) => transaction.commit().await,
            Self::Single(_) | Self::Pooled(_) => Ok(()),
        }
    }

    async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Single(connection) => sqlx::Connection::close(*connection).await,
            Self::Pooled(connection) => connection.close().await,
            Self::Transaction(transaction) => transaction.rollback().await,
        }
    }
}

impl Connection {
    /// Commits the transaction.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(handle) => handle.commit().await,
            Self::Postgres(handle) => handle.commit().await,
        }
    }

    /// Closes the connection, or rolls its transaction back.
    pub(crate) async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(handle) => handle.close().await,
            Self::Postgres(handle) => handle.close().await,
        }
    }
}

/// Connections to one database.
#[derive(Debug, Clone)]
pub(crate) enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Futures that may connect are boxed: those of two drivers in each read would make the futures of
/// requests large enough to overflow the stack.
impl Pool {
    pub(crate) fn acquire(&self) -> BoxFuture<'_, Result<Connection, sqlx::Error>> {
        let acquired = async move {
            Ok(match self {
                Self::Sqlite(pool) => Connection::Sqlite(Handle::Pooled(pool.acquire().await?)),
                Self::Postgres(pool) => Connection::Postgres(Handle::Pooled(pool.acquire().await?)),
            })
        };
        acquired.boxed()
    }

    /// A connection with a transaction that sees one state of the database.
    pub(crate) fn begin(&self) -> BoxFuture<'_, Result<Connection, sqlx::Error>> {
        let begun = async move {
            Ok(match self {
                Self::Sqlite(pool) => Connection::Sqlite(Handle::Transaction(pool.begin().await?)),
                Self::Postgres(pool) => {
                    let transaction = pool.begin_with(postgres::BEGIN_READING).await?;
                    Connection::Postgres(Handle::Transaction(transaction))
                }
            })
        };
        begun.boxed()
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}
