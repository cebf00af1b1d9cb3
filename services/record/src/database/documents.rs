//! Documents of grades, stored in packs, compressed as in the spool.

use std::collections::HashMap;

use super::codec::codec;
use super::insert::{Delete, Insert, look_up};
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection, Row};
use crate::pending::packs::{Compressed, DocumentPack, decompress};

const INSERT: Insert = Insert {
    prefix: "insert into documents (no, batch, codec, size, content)",
    columns: 5,
    suffix: "",
};

pub(super) const DELETE: Delete = Delete {
    prefix: "delete from documents where",
    key: &["batch"],
};

/// Rows whose packs are unpacked at the same time, which limits the memory of a list.
const ROWS: usize = 64;

/// Where the document of a grade is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Location {
    pub(super) pack: i64,
    pub(super) start: u32,
    pub(super) size: u32,
    pub(super) checksum: i64,
}

/// The number of the next pack.
pub(super) async fn next_number(connection: &mut Connection) -> Result<i64, DatabaseError> {
    Ok(
        sql::query_scalar("select coalesce(max(no), 0) + 1 from documents")
            .fetch_one(connection)
            .await?,
    )
}

/// The locations of the documents in packs with numbers from `first` on.
pub(super) fn locations(first: i64, packs: &[DocumentPack]) -> impl Iterator<Item = Location> {
    (first..).zip(packs).flat_map(|(pack, of)| {
        of.documents.iter().scan(0, move |start, document| {
            let location = Location {
                pack,
                start: *start,
                size: document.size,
                checksum: document.checksum,
            };
            *start += document.size;
            Some(location)
        })
    })
}

/// Inserts packs with their numbers and batches.
pub(super) async fn insert(
    connection: &mut Connection,
    packs: &[(i64, i64, &DocumentPack)],
) -> Result<(), DatabaseError> {
    INSERT
        .run(connection, packs, |values, (number, batch, pack)| {
            values
                .add(*number)
                .add(*batch)
                .add(pack.compressed.codec.number())
                .add(i64::from(pack.compressed.size))
                .add(pack.compressed.content.as_slice());
        })
        .await?;
    Ok(())
}

/// The document of a row, or why it cannot be read; `None` for rows of earlier releases, which have
/// columns instead.
pub(super) type Document<'u> = Result<Option<&'u str>, DatabaseError>;

/// Calls `read` with each row and its document.
pub(super) async fn read_with<T>(
    connection: &mut Connection,
    rows: &[Row],
    mut read: impl FnMut(&Row, Document<'_>) -> Result<T, DatabaseError>,
) -> Result<Vec<T>, DatabaseError> {
    let mut unpacked: HashMap<i64, Result<Vec<u8>, String>> = HashMap::new();
    let mut all = Vec::with_capacity(rows.len());
    for rows in rows.chunks(ROWS) {
        let mut needed: Vec<i64> = Vec::new();
        for row in rows {
            let pack: Option<i64> = row.try_get("document")?;
            needed.extend(pack.filter(|pack| !needed.contains(pack)));
        }
        unpacked.retain(|pack, _| needed.contains(pack));
        needed.retain(|pack| !unpacked.contains_key(pack));
        let select = "select no, codec, size, content from documents where no in";
        for row in look_up(connection, select, &needed).await? {
            let pack = unpack(&row).map_err(|error| error.to_string());
            unpacked.insert(row.try_get("no")?, pack);
        }
        for row in rows {
            let document = match row.try_get::<Option<i64>>("document")? {
                Some(pack) => document(&unpacked, pack, row).map(Some),
                None => Ok(None),
            };
            all.push(read(row, document)?);
        }
    }
    Ok(all)
}

/// The content of a pack.
fn unpack(row: &Row) -> Result<Vec<u8>, DatabaseError> {
    let compressed = Compressed {
        codec: codec("documents", row.try_get("codec")?)?,
        size: row.try_get("size")?,
        content: row.try_get("content")?,
    };
    Ok(decompress(&compressed)?)
}

/// The document of a row in its pack.
fn document<'u>(
    unpacked: &'u HashMap<i64, Result<Vec<u8>, String>>,
    pack: i64,
    row: &Row,
) -> Result<&'u str, DatabaseError> {
    let damaged = |reason: String| DatabaseError::Row {
        table: "grades",
        column: "document",
        reason,
    };
    let pack_of = unpacked
        .get(&pack)
        .ok_or_else(|| damaged(format!("the table `documents` has no pack {pack}")))?
        .as_ref()
        .map_err(|error| damaged(format!("pack {pack} cannot be read: {error}")))?;
    let at = |column| -> Result<Option<usize>, DatabaseError> {
        let at: Option<i64> = row.try_get(column)?;
        Ok(at.and_then(|at| at.try_into().ok()))
    };
    let (start, size) = (at("document_start")?, at("document_size")?);
    let bytes = start
        .zip(size)
        .and_then(|(start, size)| pack_of.get(start..start.checked_add(size)?))
        .ok_or_else(|| damaged(format!("it is outside its pack {pack}")))?;
    std::str::from_utf8(bytes).map_err(|error| damaged(error.to_string()))
}
