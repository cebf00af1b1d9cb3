//! Reads of bodies.

use std::collections::HashMap;

use assay_core::Hash;

use crate::database::DatabaseError;
use crate::database::bodies;
use crate::database::codec::{codec, kind};
use crate::database::sql::{self, Connection};
use crate::pending::Digest;
use crate::pending::packs::{Compressed, PackedBody, body_of, decompress};
use crate::{Body, Record, RecordError};

impl Record {
    /// Returns a body by its hash. Bodies are not restricted to a caller: their hashes come from
    /// grades, which are.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn body(&self, hash: Hash) -> Result<Option<Body>, RecordError> {
        self.read(async {
            let applied = |digest: &Digest| digest.may_contain_body(hash);
            Ok(find(&mut self.snapshot_after(applied).await?, hash).await?)
        })
        .await
    }

    /// Returns those of these bodies that are stored. Each pack is read once.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn bodies(&self, hashes: &[Hash]) -> Result<HashMap<Hash, Body>, RecordError> {
        self.read(async {
            let applied = |digest: &Digest| {
                let mut hashes = hashes.iter();
                hashes.any(|hash| digest.may_contain_body(*hash))
            };
            Ok(bodies::find_all(&mut self.snapshot_after(applied).await?, hashes).await?)
        })
        .await
    }

    /// Returns the sizes of those of these bodies that are stored, in bytes.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn body_sizes(&self, hashes: &[Hash]) -> Result<HashMap<Hash, u64>, RecordError> {
        self.read(async {
            let applied = |digest: &Digest| {
                let mut hashes = hashes.iter();
                hashes.any(|hash| digest.may_contain_body(*hash))
            };
            Ok(bodies::sizes(&mut self.snapshot_after(applied).await?, hashes).await?)
        })
        .await
    }
}

pub(crate) async fn find(
    connection: &mut Connection,
    hash: Hash,
) -> Result<Option<Body>, DatabaseError> {
    let row = sql::query(
        "select b.kind, b.start, b.size, p.codec, p.size as pack_size, p.content \
         from bodies b join packs p on p.no = b.pack where b.hash = $1",
    )
    .bind(&hash.as_bytes()[..])
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let location = PackedBody {
        hash,
        kind: kind(row.try_get("kind")?)?,
        start: row.try_get("start")?,
        size: row.try_get("size")?,
    };
    let pack = Compressed {
        codec: codec("packs", row.try_get("codec")?)?,
        size: row.try_get("pack_size")?,
        content: row.try_get("content")?,
    };
    Ok(Some(body_of(&decompress(&pack)?, &location)?))
}
