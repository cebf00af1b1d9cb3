//! Claims of idempotency keys, with their replies as they are compressed in the spool.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::codec::codec;
use super::insert::Values;
use super::rows::{batch_id, hash, id_bytes};
use crate::database::DatabaseError;
use crate::write::loaded_entry::LoadedEntry;
use crate::write::packs::{Compressed, decompress};
use crate::write::pending::Digest;
use crate::{CLAIM_LIFETIME_US, Claim, Record, RecordError, RequestKey, SealedReply};

const TABLE: &str = "idempotency";

const UPSERT_CLAIM: &str = "insert into idempotency (caller, key, request, batch, time_us, media, \
         codec, size, reply) values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (caller, key) do \
         update set media = case when excluded.media is null and batch = excluded.batch and \
         request = excluded.request then media else excluded.media end, codec = case when \
         excluded.media is null and batch = excluded.batch and request = excluded.request then \
         codec else excluded.codec end, size = case when excluded.media is null and batch = \
         excluded.batch and request = excluded.request then size else excluded.size end, reply = \
         case when excluded.media is null and batch = excluded.batch and request = \
         excluded.request then reply else excluded.reply end, request = excluded.request, batch = \
         excluded.batch, time_us = excluded.time_us where ? = 0 or batch = excluded.batch";

/// Opens and closes claims in the order of the entries, and deletes claims older than a day. A
/// `late` entry does not change a claim that was made for another batch in the meantime.
pub(super) async fn upsert_claims(
    connection: &mut SqliteConnection,
    loaded: &[&LoadedEntry],
    now_us: i64,
    late: bool,
) -> Result<(), DatabaseError> {
    for loaded in loaded {
        let Some(claim) = &loaded.entry.claim else {
            continue;
        };
        let reply = claim.reply.as_ref().zip(loaded.contents.reply.as_ref());
        let mut values = Values::with_capacity(10);
        values
            .add(claim.key.caller.clone())
            .add(claim.key.key.as_str())
            .add(&claim.request.as_bytes()[..])
            .add(id_bytes(claim.batch))
            .add(claim.time_us)
            .add(reply.map(|(reply, _)| reply.media.as_str()))
            .add(reply.map(|(_, content)| content.codec.number()))
            .add(reply.map(|(_, content)| i64::from(content.size)))
            .add(reply.map(|(_, content)| content.content.as_slice()))
            .add(late);
        sqlx::query_with(UPSERT_CLAIM, values.finish()?)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query("delete from idempotency where time_us <= ?")
        .bind(now_us.saturating_sub(CLAIM_LIFETIME_US))
        .execute(connection)
        .await?;
    Ok(())
}

impl Record {
    /// Returns the claim of an idempotency key if it is less than a day old.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn claim(&self, key: &RequestKey) -> Result<Option<Claim>, RecordError> {
        self.read(async {
            let applied = |digest: &Digest| digest.claim.as_ref() == Some(key);
            let claim = find(&mut *self.snapshot_after(applied).await?, key).await?;
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
    connection: &mut SqliteConnection,
    requested: &RequestKey,
) -> Result<Option<Claim>, DatabaseError> {
    let row = sqlx::query(
        "select request, batch, time_us, media, codec, size, reply from idempotency \
         where caller = ? and key = ?",
    )
    .bind(requested.caller.as_ref())
    .bind(requested.key.as_str())
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let reply = match row.try_get::<Option<String>, _>("media")? {
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
