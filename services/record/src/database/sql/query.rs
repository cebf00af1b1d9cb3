//! Statements with their values.

use std::future::ready;
use std::marker::PhantomData;
use std::ops::DerefMut as _;

use futures::future::{BoxFuture, FutureExt as _, TryFutureExt as _};
use futures::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use sqlx::postgres::{PgArguments, PgConnection, Postgres};
use sqlx::query::Query as DriverQuery;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection};
use sqlx::{Arguments as _, AssertSqlSafe, SqlSafeStr, SqlStr};

use super::column::{Column, Row};
use super::connection::Connection;
use super::value::Value;
use crate::database::postgres::translate;

type SqliteQuery = DriverQuery<'static, Sqlite, SqliteArguments>;
type PgQuery = DriverQuery<'static, Postgres, PgArguments>;

/// A statement with values to bind, in order.
pub(crate) fn query(sql: impl SqlSafeStr) -> Query {
    Query {
        sql: sql.into_sql_str(),
        values: Vec::new(),
        persistent: true,
    }
}

/// A statement whose first column is read.
pub(crate) fn query_scalar<T>(sql: impl SqlSafeStr) -> Scalar<T> {
    Scalar {
        query: query(sql),
        column: PhantomData,
    }
}

/// A statement with the values of its parameters. Its futures are boxed: those of two drivers in
/// each read and write would make the futures of requests large and slow to compile.
#[must_use]
pub(crate) struct Query {
    sql: SqlStr,
    values: Vec<Value>,
    persistent: bool,
}

impl Query {
    fn for_sqlite(self) -> Result<SqliteQuery, sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        arguments.reserve(self.values.len(), 0);
        for value in self.values {
            value
                .add_to_sqlite(&mut arguments)
                .map_err(sqlx::Error::Encode)?;
        }
        Ok(sqlx::query_with(self.sql, arguments).persistent(self.persistent))
    }

    fn for_postgres(self) -> Result<PgQuery, sqlx::Error> {
        let mut arguments = PgArguments::default();
        arguments.reserve(self.values.len(), 0);
        for value in self.values {
            value
                .add_to_postgres(&mut arguments)
                .map_err(sqlx::Error::Encode)?;
        }
        let sql = AssertSqlSafe(translate(self.sql.as_str()));
        Ok(sqlx::query_with(sql, arguments).persistent(self.persistent))
    }

    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The statement with these values and no others.
    pub(crate) fn with(self, values: Vec<Value>) -> Self {
        Self { values, ..self }
    }

    /// Whether the connection keeps the prepared statement. One that varies would displace others.
    pub(crate) fn persistent(self, persistent: bool) -> Self {
        Self { persistent, ..self }
    }

    /// Reads the first column of the rows.
    pub(crate) fn scalar<T>(self) -> Scalar<T> {
        Scalar {
            query: self,
            column: PhantomData,
        }
    }

    /// Executes the statement; returns the number of rows that were written.
    pub(crate) fn execute(
        self,
        connection: &mut Connection,
    ) -> BoxFuture<'_, Result<u64, sqlx::Error>> {
        match connection {
            Connection::Sqlite(handle) => {
                let connection: &mut SqliteConnection = handle.deref_mut();
                let done = async { self.for_sqlite()?.execute(connection).await };
                done.map_ok(|done| done.rows_affected()).boxed()
            }
            Connection::Postgres(handle) => {
                let connection: &mut PgConnection = handle.deref_mut();
                let done = async { self.for_postgres()?.execute(connection).await };
                done.map_ok(|done| done.rows_affected()).boxed()
            }
        }
    }

    pub(crate) fn fetch_all(
        self,
        connection: &mut Connection,
    ) -> BoxFuture<'_, Result<Vec<Row>, sqlx::Error>> {
        match connection {
            Connection::Sqlite(handle) => {
                let connection: &mut SqliteConnection = handle.deref_mut();
                let rows = async { self.for_sqlite()?.fetch_all(connection).await };
                rows.map_ok(|rows| rows.into_iter().map(Row::Sqlite).collect())
                    .boxed()
            }
            Connection::Postgres(handle) => {
                let connection: &mut PgConnection = handle.deref_mut();
                let rows = async { self.for_postgres()?.fetch_all(connection).await };
                rows.map_ok(|rows| rows.into_iter().map(Row::Postgres).collect())
                    .boxed()
            }
        }
    }

    pub(crate) fn fetch_optional(
        self,
        connection: &mut Connection,
    ) -> BoxFuture<'_, Result<Option<Row>, sqlx::Error>> {
        match connection {
            Connection::Sqlite(handle) => {
                let connection: &mut SqliteConnection = handle.deref_mut();
                let row = async { self.for_sqlite()?.fetch_optional(connection).await };
                row.map_ok(|row| row.map(Row::Sqlite)).boxed()
            }
            Connection::Postgres(handle) => {
                let connection: &mut PgConnection = handle.deref_mut();
                let row = async { self.for_postgres()?.fetch_optional(connection).await };
                row.map_ok(|row| row.map(Row::Postgres)).boxed()
            }
        }
    }

    pub(crate) async fn fetch_one(self, connection: &mut Connection) -> Result<Row, sqlx::Error> {
        let row = self.fetch_optional(connection).await?;
        row.ok_or(sqlx::Error::RowNotFound)
    }

    /// Reads row by row.
    pub(crate) fn fetch(
        self,
        connection: &mut Connection,
    ) -> BoxStream<'_, Result<Row, sqlx::Error>> {
        match connection {
            Connection::Sqlite(handle) => {
                let connection: &mut SqliteConnection = handle.deref_mut();
                match self.for_sqlite() {
                    Ok(query) => query.fetch(connection).map_ok(Row::Sqlite).boxed(),
                    Err(error) => stream::once(ready(Err(error))).boxed(),
                }
            }
            Connection::Postgres(handle) => {
                let connection: &mut PgConnection = handle.deref_mut();
                match self.for_postgres() {
                    Ok(query) => query.fetch(connection).map_ok(Row::Postgres).boxed(),
                    Err(error) => stream::once(ready(Err(error))).boxed(),
                }
            }
        }
    }
}

/// A statement whose first column is read.
#[must_use]
pub(crate) struct Scalar<T> {
    query: Query,
    column: PhantomData<fn() -> T>,
}

impl<T: for<'r> Column<'r>> Scalar<T> {
    pub(crate) fn bind(self, value: impl Into<Value>) -> Self {
        let query = self.query.bind(value);
        Self { query, ..self }
    }

    pub(crate) async fn fetch_all(
        self,
        connection: &mut Connection,
    ) -> Result<Vec<T>, sqlx::Error> {
        let rows = self.query.fetch_all(connection).await?;
        rows.iter().map(Row::first).collect()
    }

    pub(crate) async fn fetch_optional(
        self,
        connection: &mut Connection,
    ) -> Result<Option<T>, sqlx::Error> {
        let row = self.query.fetch_optional(connection).await?;
        row.as_ref().map(Row::first).transpose()
    }

    pub(crate) async fn fetch_one(self, connection: &mut Connection) -> Result<T, sqlx::Error> {
        self.query.fetch_one(connection).await?.first()
    }

    /// Reads row by row.
    pub(crate) fn fetch<'c>(
        self,
        connection: &'c mut Connection,
    ) -> BoxStream<'c, Result<T, sqlx::Error>>
    where
        T: 'c,
    {
        self.query
            .fetch(connection)
            .map(|row| row.and_then(|row| row.first()))
            .boxed()
    }
}
