//! Rows, and the values of their columns.

use std::borrow::Cow;

use sqlx::error::BoxDynError;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, TypeInfo, ValueRef};

use crate::database::postgres::decode_text;

/// A row of a result.
#[derive(Debug)]
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// The value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'r> {
    Null,
    Flag(bool),
    Integer(i64),
    Real(f64),
    Text(Cow<'r, str>),
    Bytes(&'r [u8]),
}

/// A type in which the value of a column can be read.
pub(crate) trait Column<'r>: Sized {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError>;
}

/// The value of a column of a row of either driver, whose types have different names.
macro_rules! cell {
    ($row:expr, $column:expr, $text:expr) => {{
        let (row, column) = ($row, $column);
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        let info = value.type_info();
        match info.name() {
            "BOOL" | "BOOLEAN" => Cell::Flag(row.try_get_unchecked(column)?),
            "FLOAT8" | "REAL" => Cell::Real(row.try_get_unchecked(column)?),
            "TEXT" => Cell::Text($text(row.try_get_unchecked(column)?)),
            "BLOB" | "BYTEA" => Cell::Bytes(row.try_get_unchecked(column)?),
            _ => Cell::Integer(row.try_get_unchecked(column)?),
        }
    }};
}

impl Row {
    /// The value of a column as it is stored.
    pub(crate) fn cell(&self, column: &str) -> Result<Cell<'_>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(row) => cell!(row, column, Cow::Borrowed),
            Self::Postgres(row) => cell!(row, column, decode_text),
        })
    }

    /// The value of a column.
    pub(crate) fn try_get<'r, T: Column<'r>>(&'r self, column: &str) -> Result<T, sqlx::Error> {
        decoded(self.cell(column)?, || column.to_owned())
    }

    /// The value of the first column.
    pub(super) fn first<'r, T: Column<'r>>(&'r self) -> Result<T, sqlx::Error> {
        let cell = (|| -> Result<Cell<'r>, sqlx::Error> {
            Ok(match self {
                Self::Sqlite(row) => cell!(row, 0, Cow::Borrowed),
                Self::Postgres(row) => cell!(row, 0, decode_text),
            })
        })();
        decoded(cell?, || "0".to_owned())
    }
}

fn decoded<'r, T: Column<'r>>(
    cell: Cell<'r>,
    column: impl FnOnce() -> String,
) -> Result<T, sqlx::Error> {
    T::of_cell(cell).map_err(|source| sqlx::Error::ColumnDecode {
        index: column(),
        source,
    })
}

fn mismatch<T>(cell: &Cell<'_>, expected: &str) -> Result<T, BoxDynError> {
    let found = match cell {
        Cell::Null => "null",
        Cell::Flag(_) => "a boolean",
        Cell::Integer(_) => "an integer",
        Cell::Real(_) => "a number",
        Cell::Text(_) => "a text",
        Cell::Bytes(_) => "bytes",
    };
    Err(format!("is {found}, but should be {expected}").into())
}

impl<'r> Column<'r> for i64 {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        match cell {
            Cell::Integer(number) => Ok(number),
            Cell::Flag(flag) => Ok(flag.into()),
            other => mismatch(&other, "an integer"),
        }
    }
}

impl<'r> Column<'r> for i32 {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        Ok(i64::of_cell(cell)?.try_into()?)
    }
}

impl<'r> Column<'r> for u32 {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        Ok(i64::of_cell(cell)?.try_into()?)
    }
}

impl<'r> Column<'r> for bool {
    /// SQLite has no booleans: those of expressions are integers.
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        match cell {
            Cell::Flag(flag) => Ok(flag),
            Cell::Integer(number) => Ok(number != 0),
            other => mismatch(&other, "a boolean"),
        }
    }
}

impl<'r> Column<'r> for f64 {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        match cell {
            Cell::Real(number) => Ok(number),
            other => mismatch(&other, "a number"),
        }
    }
}

impl<'r> Column<'r> for Cow<'r, str> {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        match cell {
            Cell::Text(text) => Ok(text),
            other => mismatch(&other, "a text"),
        }
    }
}

impl<'r> Column<'r> for String {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        Ok(Cow::of_cell(cell)?.into_owned())
    }
}

impl<'r> Column<'r> for &'r [u8] {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        match cell {
            Cell::Bytes(bytes) => Ok(bytes),
            other => mismatch(&other, "bytes"),
        }
    }
}

impl<'r> Column<'r> for Vec<u8> {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        Ok(<&[u8]>::of_cell(cell)?.to_owned())
    }
}

impl<'r, T: Column<'r>> Column<'r> for Option<T> {
    fn of_cell(cell: Cell<'r>) -> Result<Self, BoxDynError> {
        match cell {
            Cell::Null => Ok(None),
            cell => T::of_cell(cell).map(Some),
        }
    }
}
