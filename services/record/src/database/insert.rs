//! Inserts, deletes and looks up many rows with few statements, for any table.
//!
//! sqlx passes each statement to the thread of its connection and back, which takes some 20 µs.
//! With 64 rows per statement that is a third of a microsecond per row. Larger statements are not
//! faster, because their programs exceed the cache of the processor.

use std::sync::Arc;

use assay_rewards::sum;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Arguments as _, AssertSqlSafe, Encode, Type};

use crate::database::DatabaseError;

/// Numbers of rows per statement, largest first. There are few, so that few statements are prepared
/// and all of them stay in the cache of the connection.
const SIZES: [usize; 4] = [64, 16, 4, 1];

/// A multi-row insert.
pub(super) struct Insert {
    /// The statement up to `values`.
    pub(super) prefix: &'static str,
    pub(super) columns: usize,
    /// The statement after the rows.
    pub(super) suffix: &'static str,
}

impl Insert {
    fn sql(&self, rows: usize) -> String {
        let row = format!("({})", list(self.columns));
        let rows = vec![row.as_str(); rows].join(", ");
        format!("{} values {rows} {}", self.prefix, self.suffix)
    }

    /// Inserts `rows`, each bound by `bind`; returns the number of rows that were written.
    pub(super) async fn run<T>(
        &self,
        connection: &mut SqliteConnection,
        rows: &[T],
        bind: impl Fn(&mut Values, &T),
    ) -> Result<u64, DatabaseError> {
        let mut written = 0;
        let mut rest = rows;
        for size in SIZES {
            if rest.len() < size {
                continue;
            }
            let sql: Arc<str> = self.sql(size).into();
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

/// Number of keys per lookup.
const LOOKUP: usize = 64;

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
    // The number of placeholders is constant and unused ones are null, so that one prepared
    // statement serves any number of keys.
    let sql: Arc<str> = format!("{select} ({})", list(LOOKUP)).into();
    for chunk in keys.chunks(LOOKUP) {
        let mut values = Values::with_capacity(LOOKUP);
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
    /// The condition of one row.
    pub(super) row: &'static str,
    /// Placeholders of the condition.
    pub(super) columns: usize,
}

impl Delete {
    /// Deletes `rows`, the key of each being bound by `bind`.
    pub(super) async fn run<T>(
        &self,
        connection: &mut SqliteConnection,
        rows: &[T],
        bind: impl Fn(&mut Values, &T),
    ) -> Result<(), DatabaseError> {
        // As in `look_up`: a comparison with null is never true.
        let sql: Arc<str> =
            format!("{} {}", self.prefix, vec![self.row; LOOKUP].join(" or ")).into();
        for chunk in rows.chunks(LOOKUP) {
            let mut values = Values::with_capacity(LOOKUP * self.columns);
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

/// `?, ?, ?`
fn list(placeholders: usize) -> String {
    vec!["?"; placeholders].join(", ")
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
