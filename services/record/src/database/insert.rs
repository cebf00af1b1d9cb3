//! Inserts, deletes and looks up many rows with few statements, for any table.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use super::sql::{self, Connection, Row, Value, bulk};
use super::sums::addend;
use crate::database::DatabaseError;

/// A multi-row insert.
pub(super) struct Insert<'s> {
    /// The statement up to `values`.
    pub(super) prefix: &'s str,
    pub(super) columns: usize,
    /// The statement after the rows.
    pub(super) suffix: &'s str,
}

impl Insert<'_> {
    /// Inserts `rows`, each bound by `bind`; returns the number of rows that were written.
    pub(super) async fn run<T>(
        &self,
        connection: &mut Connection,
        rows: &[T],
        bind: impl Fn(&mut Values, &T),
    ) -> Result<u64, DatabaseError> {
        let mut written = 0;
        let mut rest = rows;
        for size in bulk::sizes(connection) {
            if rest.len() < *size {
                continue;
            }
            let sql: Arc<str> = bulk::insert(self.prefix, self.columns, self.suffix, *size).into();
            while let Some((now, later)) = rest.split_at_checked(*size) {
                let mut values = Values::with_capacity(size * self.columns);
                for row in now {
                    bind(&mut values, row);
                }
                written += sql::query(AssertSqlSafe(sql.clone()))
                    .with(values.finish())
                    .execute(connection)
                    .await?;
                rest = later;
            }
        }
        Ok(written)
    }
}

/// Returns the rows whose key is one of `keys`. `select` ends with `in`.
pub(super) async fn look_up<K>(
    connection: &mut Connection,
    select: &str,
    keys: &[K],
) -> Result<Vec<Row>, DatabaseError>
where
    K: Clone + Into<Value>,
{
    look_up_with(connection, bulk::look_up(select), keys, None).await
}

/// The same, of rows whose `column` is less than `bound`.
pub(super) async fn look_up_below<K>(
    connection: &mut Connection,
    select: &str,
    keys: &[K],
    (column, bound): (&str, i64),
) -> Result<Vec<Row>, DatabaseError>
where
    K: Clone + Into<Value>,
{
    let sql = bulk::look_up_below(select, column);
    look_up_with(connection, sql, keys, Some(bound)).await
}

async fn look_up_with<K>(
    connection: &mut Connection,
    sql: String,
    keys: &[K],
    bound: Option<i64>,
) -> Result<Vec<Row>, DatabaseError>
where
    K: Clone + Into<Value>,
{
    let mut found = Vec::new();
    let sql: Arc<str> = sql.into();
    for chunk in keys.chunks(bulk::KEYS) {
        let mut values: Vec<Value> = chunk.iter().cloned().map(Into::into).collect();
        values.resize(bulk::KEYS, Value::Null);
        values.extend(bound.map(Value::from));
        let rows = sql::query(AssertSqlSafe(sql.clone()))
            .with(values)
            .fetch_all(connection)
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
        connection: &mut Connection,
        rows: &[T],
        bind: impl Fn(&mut Values, &T),
    ) -> Result<(), DatabaseError> {
        let sql: Arc<str> = bulk::delete(self.prefix, self.key).into();
        for chunk in rows.chunks(bulk::KEYS) {
            let mut values = Values::with_capacity(bulk::KEYS * self.key.len());
            for row in chunk {
                bind(&mut values, row);
            }
            let mut values = values.finish();
            values.resize(bulk::KEYS * self.key.len(), Value::Null);
            sql::query(AssertSqlSafe(sql.clone()))
                .with(values)
                .execute(connection)
                .await?;
        }
        Ok(())
    }
}

/// Values to bind, in order.
#[derive(Default)]
pub(super) struct Values(Vec<Value>);

impl Values {
    pub(super) fn with_capacity(values: usize) -> Self {
        Self(Vec::with_capacity(values))
    }

    pub(super) fn add(&mut self, value: impl Into<Value>) -> &mut Self {
        self.0.push(value.into());
        self
    }

    /// Adds a number to a column of sums.
    pub(super) fn add_number(&mut self, number: f64) -> &mut Self {
        self.add(addend(number))
    }

    /// Adds a count or size. Neither database has unsigned integers of 64 bits, and no count comes
    /// near the limit.
    pub(super) fn add_count(&mut self, count: u64) -> &mut Self {
        self.add(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn finish(self) -> Vec<Value> {
        self.0
    }
}
