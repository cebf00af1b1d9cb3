//! The codec of stored bytes and the kinds of bodies, by their numbers.

use assay_core::Hash;

use crate::BodyKind;
use crate::database::DatabaseError;
use crate::database::sql::Row;
use crate::pending::packs::{Codec, PackedBody};

pub(crate) fn codec(table: &'static str, number: i64) -> Result<Codec, DatabaseError> {
    Codec::from_number(number).ok_or_else(|| DatabaseError::Row {
        table,
        column: "codec",
        reason: format!("unknown codec `{number}`; use the release that wrote it, or a later one"),
    })
}

/// The location of the body with this hash, from its row.
pub(crate) fn packed_body(row: &Row, hash: Hash) -> Result<PackedBody, DatabaseError> {
    Ok(PackedBody {
        hash,
        kind: kind(row.try_get("kind")?)?,
        start: row.try_get("start")?,
        size: row.try_get("size")?,
    })
}

pub(crate) fn kind(number: i64) -> Result<BodyKind, DatabaseError> {
    match number {
        0 => Ok(BodyKind::Text),
        1 => Ok(BodyKind::Messages),
        2 => Ok(BodyKind::Task),
        3 => Ok(BodyKind::Policy),
        4 => Ok(BodyKind::Pair),
        5 => Ok(BodyKind::Report),
        _ => Err(DatabaseError::Row {
            table: "bodies",
            column: "kind",
            reason: format!(
                "unknown kind of body `{number}`; use the release that wrote it, or a later one"
            ),
        }),
    }
}
