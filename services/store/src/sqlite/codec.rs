//! The codec of stored bytes, by its number.

use crate::database::DatabaseError;
use crate::packs::Codec;

pub(super) fn codec(table: &'static str, number: i64) -> Result<Codec, DatabaseError> {
    Codec::from_number(number).ok_or_else(|| DatabaseError::Row {
        table,
        column: "codec",
        reason: format!("unknown codec `{number}`; use the release that wrote it, or a later one"),
    })
}
