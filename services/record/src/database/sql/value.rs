//! Values of parameters.

use std::sync::Arc;

use assay_core::Hash;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgTypeInfo};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, Encode, Postgres, Type};

use super::column::Cell;
use crate::database::postgres::encode_text;

/// A value to bind.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Integer(i64),
    Real(f64),
    /// A shared text needs one allocation, a borrowed one two.
    Text(Arc<str>),
    Bytes(Vec<u8>),
}

impl Value {
    pub(super) fn add_to_sqlite(self, arguments: &mut SqliteArguments) -> Result<(), BoxDynError> {
        match self {
            Self::Null => arguments.add(None::<i64>),
            Self::Flag(flag) => arguments.add(flag),
            Self::Integer(number) => arguments.add(number),
            Self::Real(number) => arguments.add(number),
            Self::Text(text) => arguments.add(text),
            Self::Bytes(bytes) => arguments.add(bytes),
        }
    }

    pub(super) fn add_to_postgres(self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        match self {
            Self::Null => arguments.add(Untyped),
            Self::Flag(flag) => arguments.add(flag),
            Self::Integer(number) => arguments.add(number),
            Self::Real(number) => arguments.add(number),
            Self::Text(text) => arguments.add(&*encode_text(&text)),
            Self::Bytes(bytes) => arguments.add(bytes),
        }
    }
}

/// A null whose type PostgreSQL infers.
struct Untyped;

impl Type<Postgres> for Untyped {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl Encode<'_, Postgres> for Untyped {
    fn encode_by_ref(&self, _: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Ok(IsNull::Yes)
    }
}

macro_rules! value_from {
    ($($of:ty => |$value:ident| $make:expr;)*) => {
        $(impl From<$of> for Value {
            fn from($value: $of) -> Self {
                $make
            }
        })*
    };
}

value_from! {
    bool => |flag| Self::Flag(flag);
    i64 => |number| Self::Integer(number);
    &i64 => |number| Self::Integer(*number);
    i32 => |number| Self::Integer(number.into());
    u32 => |number| Self::Integer(number.into());
    f64 => |number| Self::Real(number);
    &str => |text| Self::Text(text.into());
    String => |text| Self::Text(text.into());
    &String => |text| Self::Text(text.as_str().into());
    Arc<str> => |text| Self::Text(text);
    &[u8] => |bytes| Self::Bytes(bytes.to_owned());
    Vec<u8> => |bytes| Self::Bytes(bytes);
    Hash => |hash| Self::Bytes(hash.as_bytes().to_vec());
}

impl From<Cell<'_>> for Value {
    fn from(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Flag(flag) => Self::Flag(flag),
            Cell::Integer(number) => Self::Integer(number),
            Cell::Real(number) => Self::Real(number),
            Cell::Text(text) => Self::Text(text.as_ref().into()),
            Cell::Bytes(bytes) => Self::Bytes(bytes.to_owned()),
        }
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
