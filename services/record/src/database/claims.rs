//! Claims of idempotency keys, with their replies as they are compressed in the spool.

use sqlx::sqlite::SqliteConnection;

use super::insert::Values;
use super::rows::id_bytes;
use crate::CLAIM_LIFETIME_US;
use crate::database::DatabaseError;
use crate::pending::loaded_entry::LoadedEntry;

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
