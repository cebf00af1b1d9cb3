//! Reads of claims.

use crate::database::DatabaseError;
use crate::database::codec::codec;
use crate::database::rows::{batch_id, hash};
use crate::database::sql::{self, Connection};
use crate::pending::Digest;
use crate::pending::packs::{Compressed, decompress};
use crate::{CLAIM_LIFETIME_US, Claim, Record, RecordError, RequestKey, SealedReply};

const TABLE: &str = "idempotency";

impl Record {
    /// Returns the claim of an idempotency key if it is less than a day old.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn claim(&self, key: &RequestKey) -> Result<Option<Claim>, RecordError> {
        self.read(async {
            let applied = |digest: &Digest| digest.claim.as_ref() == Some(key);
            let claim = find(&mut self.snapshot_after(applied).await?, key).await?;
            let oldest = self
                .shared
                .clock
                .unix_us()
                .saturating_sub(CLAIM_LIFETIME_US);
            Ok(claim.filter(|claim| claim.time_us > oldest))
        })
        .await
    }
}

async fn find(
    connection: &mut Connection,
    requested: &RequestKey,
) -> Result<Option<Claim>, DatabaseError> {
    let row = sql::query(
        "select request, batch, time_us, media, codec, size, reply from idempotency \
         where caller = $1 and key = $2",
    )
    .bind(requested.caller.as_ref())
    .bind(requested.key.as_str())
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let reply = match row.try_get::<Option<String>>("media")? {
        Some(media) => Some(SealedReply {
            media,
            body: decompress(&Compressed {
                codec: codec(TABLE, row.try_get("codec")?)?,
                size: row.try_get("size")?,
                content: row.try_get("reply")?,
            })?,
        }),
        None => None,
    };
    Ok(Some(Claim {
        key: requested.clone(),
        request: hash(row.try_get("request")?, TABLE, "request")?,
        batch: batch_id(row.try_get("batch")?, TABLE)?,
        time_us: row.try_get("time_us")?,
        reply,
    }))
}
