//! Reads of pairs.

use assay_core::Hash;

use crate::database::DatabaseError;
use crate::database::codec::codec;
use crate::database::rows::{count, hash};
use crate::database::sql::{self, Connection, QueryBuilder, Row};
use crate::pair::{CollectedPair, KnownPairs, PairPage, StoredPair};
use crate::pending::packs::{Compressed, PackedBody, body_of, decompress};
use crate::{BodyKind, Record, RecordError};

/// Bytes of pairs after which a page ends; limits the size of a reply.
const PAGE_BYTES: usize = 32 << 20;

impl Record {
    /// Returns which of `pairs` were collected for a model, and the number of its pairs. Callers
    /// see none.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn known_pairs(
        &self,
        model: &str,
        pairs: &[Hash],
    ) -> Result<KnownPairs, RecordError> {
        if !self.scope.is_all() {
            return Ok(KnownPairs::default());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(known(&mut snapshot, model, pairs).await?)
        })
        .await
    }

    /// Returns at most `limit` pairs of a model with a number above `after`, in order of arrival;
    /// fewer if they are long. Callers see none.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn pairs(
        &self,
        model: &str,
        after: u64,
        limit: u32,
    ) -> Result<PairPage, RecordError> {
        if !self.scope.is_all() {
            return Ok(PairPage::default());
        }
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(page(&mut snapshot, model, after, limit).await?)
        })
        .await
    }
}

async fn known(
    connection: &mut Connection,
    model: &str,
    pairs: &[Hash],
) -> Result<KnownPairs, DatabaseError> {
    let total: i64 = sql::query_scalar("select count(*) from pairs where model = $1")
        .bind(model)
        .fetch_one(connection)
        .await?;
    let mut known = Vec::new();
    for chunk in pairs.chunks(512) {
        let mut query = QueryBuilder::new("select pair from pairs where model = ");
        query.push_bind(model).push(" and pair in (");
        query.push_list(chunk.iter().map(|hash| &hash.as_bytes()[..]));
        query.push(")");
        for row in query
            .build()
            .persistent(false)
            .fetch_all(connection)
            .await?
        {
            known.push(hash(row.try_get("pair")?, "pairs", "pair")?);
        }
    }
    Ok(KnownPairs {
        known,
        total: count(total),
    })
}

async fn page(
    connection: &mut Connection,
    model: &str,
    after: u64,
    limit: u32,
) -> Result<PairPage, DatabaseError> {
    const SELECT: &str = "select p.no, p.pair, p.source, p.caller, p.time_us, b.pack, b.start, \
         b.size from pairs p join bodies b on b.hash = p.pair where p.model = $1 and p.no > $2 \
         order by p.no limit $3";
    // One more than the page, to find out whether another page follows.
    let rows = sql::query(SELECT)
        .bind(model)
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(i64::from(limit) + 1)
        .fetch_all(connection)
        .await?;
    let (mut page, mut bytes) = (PairPage::default(), 0);
    let mut last_pack: Option<(i64, Vec<u8>)> = None;
    for row in &rows {
        if page.pairs.len() == limit as usize || bytes >= PAGE_BYTES {
            page.more = true;
            break;
        }
        let pack: i64 = row.try_get("pack")?;
        // Pairs of one request are adjacent, so the next pair is usually in the same pack.
        let content = match last_pack.take() {
            Some((number, content)) if number == pack => content,
            _ => read_pack(connection, pack).await?,
        };
        let pair = read_pair(row, model, &content)?;
        bytes += row
            .try_get::<i64>("size")
            .map(|size| usize::try_from(size).unwrap_or(0))?;
        page.pairs.push(pair);
        last_pack = Some((pack, content));
    }
    Ok(page)
}

async fn read_pack(connection: &mut Connection, number: i64) -> Result<Vec<u8>, DatabaseError> {
    let row = sql::query("select codec, size, content from packs where no = $1")
        .bind(number)
        .fetch_one(connection)
        .await?;
    let pack = Compressed {
        codec: codec("packs", row.try_get("codec")?)?,
        size: row.try_get("size")?,
        content: row.try_get("content")?,
    };
    Ok(decompress(&pack)?)
}

fn read_pair(row: &Row, model: &str, pack: &[u8]) -> Result<StoredPair, DatabaseError> {
    let name = hash(row.try_get("pair")?, "pairs", "pair")?;
    let location = PackedBody {
        hash: name,
        kind: BodyKind::Pair,
        start: row.try_get("start")?,
        size: row.try_get("size")?,
    };
    let body = body_of(pack, &location)?;
    let pair = serde_json::from_slice(&body.content).map_err(|error| DatabaseError::Row {
        table: "bodies",
        column: "pack",
        reason: format!("cannot parse the pair `{name}`: {error}"),
    })?;
    Ok(StoredPair {
        number: count(row.try_get("no")?),
        collected: CollectedPair {
            model: model.to_owned(),
            pair: name,
            source_json: row.try_get("source")?,
            caller: row.try_get("caller")?,
            time_us: row.try_get("time_us")?,
        },
        pair,
    })
}
