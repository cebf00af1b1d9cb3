//! Inserts, deletes and looks up many rows with few statements, for any table. The module of the
//! database composes these statements.

use std::sync::Arc;

use assay_rewards::sum;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Arguments as _, AssertSqlSafe, Encode, Type};

use super::sqlite::bulk;
use crate::database::DatabaseError;

/// A multi-row insert.
pub(super) struct Insert {
    /// The statement up to `values`.
    pub(super) prefix: &'static str,
    pub(super) columns: usize,
    /// The statement after the rows.
    pub(super) suffix: &'static str,
}

impl Insert {
    /// Inserts `rows`, each bound by `bind`; returns the number of rows that were written.
    pub(super) async fn run<T>(
        &self,
        connection: &mut SqliteConnection,
        rows: &[T],
        bind: impl Fn(&mut Values, &T),
    ) -> Result<u64, DatabaseError> {
        let mut written = 0;
        let mut rest = rows;
        for size in bulk::SIZES {
            if rest.len() < size {
                continue;
            }
            let sql: Arc<str> = bulk::insert(self.prefix, self.columns, self.suffix, size).into();
            while let Some((now, later)) = rest.split_at_checked(size) {
                let mut values = Values::with_capacity(size * self.columns);
                for row in now {
                    bind(&mut values, row);
                }
                written += sqlx::query_with(AssertSqlSafe(sql.clone()), values.finish()?)
                    .execute(&mut *connection)
                    .await?
                    .rows_affected();
                rest = later;
            }
        }
        Ok(written)
    }
}

/// Returns the rows whose key is one of `keys`. `select` ends with `in`.
pub(super) async fn look_up<K>(
    connection: &mut SqliteConnection,
    select: &str,
    keys: &[K],
) -> Result<Vec<SqliteRow>, DatabaseError>
where
    K: Clone + for<'k> Encode<'k, sqlx::Sqlite> + Type<sqlx::Sqlite>,
{
    let mut found = Vec::new();
    let sql: Arc<str> = bulk::look_up(select).into();
    for chunk in keys.chunks(bulk::KEYS) {
        let mut values = Values::with_capacity(bulk::KEYS);
        for key in chunk {
            values.add(key.clone());
        }
        let rows = sqlx::query_with(AssertSqlSafe(sql.clone()), values.finish()?)
            .fetch_all(&mut *connection)
            .await?;
        found.extend(rows);
    }
    Ok(found)
}

/// A deletion of rows by their keys.
pub(super) struct Delete {
    /// The statement up to and including `where`.
    pub(super) prefix: &'static str,
    /// The columns that identify a row.
    pub(super) key: &'static [&'static str],
}

impl Delete {
    /// Deletes `rows`, the key of each being bound by `bind`.
    pub(super) async fn run<T>(
        &self,
        connection: &mut SqliteConnection,
        rows: &[T],
        bind: impl Fn(&mut Values, &T),
    ) -> Result<(), DatabaseError> {
        let sql: Arc<str> = bulk::delete(self.prefix, self.key).into();
        for chunk in rows.chunks(bulk::KEYS) {
            let mut values = Values::with_capacity(bulk::KEYS * self.key.len());
            for row in chunk {
                bind(&mut values, row);
            }
            sqlx::query_with(AssertSqlSafe(sql.clone()), values.finish()?)
                .execute(&mut *connection)
                .await?;
        }
        Ok(())
    }
}

/// Values to bind, in order. [`finish`](Self::finish) reports the first one that cannot be bound.
#[derive(Default)]
pub(super) struct Values {
    arguments: SqliteArguments,
    failed: Option<BoxDynError>,
}

impl Values {
    pub(super) fn with_capacity(values: usize) -> Self {
        let mut arguments = SqliteArguments::default();
        arguments.reserve(values, 0);
        Self {
            arguments,
            failed: None,
        }
    }

    pub(super) fn add<'v, T>(&mut self, value: T) -> &mut Self
    where
        T: Encode<'v, sqlx::Sqlite> + Type<sqlx::Sqlite>,
    {
        if let Err(error) = self.arguments.add(value) {
            self.failed.get_or_insert(error);
        }
        self
    }

    /// Adds a text. A shared text needs one allocation, a borrowed one two.
    pub(super) fn add_text(&mut self, text: Option<&str>) -> &mut Self {
        self.add(text.map(Arc::<str>::from))
    }

    /// Adds a number to a column that is not nullable. SQLite would store NaN as null.
    pub(super) fn add_number(&mut self, number: f64) -> &mut Self {
        self.add(sum::finite(number))
    }

    /// Adds a count or size. SQLite has no unsigned integers, and no count comes near the limit.
    pub(super) fn add_count(&mut self, count: u64) -> &mut Self {
        self.add(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn finish(self) -> Result<SqliteArguments, sqlx::Error> {
        match self.failed {
            None => Ok(self.arguments),
            Some(error) => Err(sqlx::Error::Encode(error)),
        }
    }
}
