//! Responsible for inserting and looking up many rows with few statements. Knows no table.
//!
//! sqlx hands each statement to its connection's thread and back, some 20 µs; with 64 rows a
//! statement that is a third of a microsecond a row. Larger statements gain nothing more: their
//! programs leave the processor's cache.

use std::sync::Arc;

use assay_core::sum;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Arguments as _, AssertSqlSafe, Encode, Type};

use crate::database::DatabaseError;

/// Rows of one statement, largest first. Few sizes, so that few statements are prepared and all
/// stay in the connection's cache.
const SIZES: [usize; 4] = [64, 16, 4, 1];

/// A multi-row insert.
pub(super) struct Insert {
    /// Up to and without `values`.
    pub(super) into: &'static str,
    pub(super) columns: usize,
    /// What follows the rows.
    pub(super) then: &'static str,
}

impl Insert {
    fn sql(&self, rows: usize) -> String {
        let row = format!("({})", list(self.columns));
        let rows = vec![row.as_str(); rows].join(", ");
        format!("{} values {rows} {}", self.into, self.then)
    }

    /// Inserts `rows`, each bound by `bind`; answers how many rows were really written.
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
                let mut values = Values::with_room(size * self.columns);
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

/// Ids of one lookup.
const LOOKUP: usize = 64;

/// The rows whose key is one of `keys`. `select` ends in `in`.
pub(super) async fn look_up(
    connection: &mut SqliteConnection,
    select: &str,
    keys: &[Vec<u8>],
) -> Result<Vec<SqliteRow>, DatabaseError> {
    let mut found = Vec::new();
    // Always the same number of places, unused ones null: one prepared statement serves every
    // length.
    let sql: Arc<str> = format!("{select} ({})", list(LOOKUP)).into();
    for chunk in keys.chunks(LOOKUP) {
        let mut values = Values::with_room(LOOKUP);
        for key in chunk {
            values.add(key.as_slice());
        }
        let rows = sqlx::query_with(AssertSqlSafe(sql.clone()), values.finish()?)
            .fetch_all(&mut *connection)
            .await?;
        found.extend(rows);
    }
    Ok(found)
}

/// `?, ?, ?`
fn list(places: usize) -> String {
    vec!["?"; places].join(", ")
}

/// Values to bind, in order. The first that cannot be bound is reported by
/// [`finish`](Self::finish).
#[derive(Default)]
pub(super) struct Values {
    arguments: SqliteArguments,
    failed: Option<BoxDynError>,
}

impl Values {
    pub(super) fn with_room(values: usize) -> Self {
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

    /// A text; bound shared, it takes one allocation where a borrowed one takes two.
    pub(super) fn add_text(&mut self, text: Option<&str>) -> &mut Self {
        self.add(text.map(Arc::<str>::from))
    }

    /// Adds a number to a column that is not nullable: SQLite stores NaN as null.
    pub(super) fn add_number(&mut self, number: f64) -> &mut Self {
        self.add(sum::finite(number))
    }

    /// Counters and sizes; SQLite has no unsigned integers, and none of ours comes near the limit.
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
