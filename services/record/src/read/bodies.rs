//! Reads of bodies.

use std::collections::HashMap;

use assay_core::Hash;

use crate::database::DatabaseError;
use crate::database::codec::{codec, kind};
use crate::database::rows::count;
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
            Ok(sizes(&mut self.snapshot_after(applied).await?, hashes).await?)
        })
        .await
    }
}

async fn sizes(
    connection: &mut Connection,
    hashes: &[Hash],
) -> Result<HashMap<Hash, u64>, DatabaseError> {
    let mut sizes = HashMap::with_capacity(hashes.len());
    for hash in hashes {
        let size: Option<i64> = sql::query_scalar("select size from bodies where hash = $1")
            .bind(&hash.as_bytes()[..])
            .fetch_optional(connection)
            .await?;
        sizes.extend(size.map(|size| (*hash, count(size))));
    }
    Ok(sizes)
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
