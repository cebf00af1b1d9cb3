//! Claims of idempotency keys, with their replies as they are compressed in the spool.

use super::insert::Values;
use super::rows::id_bytes;
use crate::CLAIM_LIFETIME_US;
use crate::database::sql::{self, Connection};
use crate::database::{DatabaseError, postgres};
use crate::pending::loaded_entry::LoadedEntry;

/// Keeps a column of the reply if the same request claims its key again.
macro_rules! keep {
    ($column:literal) => {
        concat!(
            $column,
            " = case when excluded.media is null and idempotency.batch = excluded.batch \
             and idempotency.request = excluded.request then idempotency.",
            $column,
            " \
             else excluded.",
            $column,
            " end, "
        )
    };
}

const UPSERT_CLAIM: &str = concat!(
    "insert into idempotency (caller, key, request, batch, time_us, media, codec, size, reply) \
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (caller, key) do update set ",
    keep!("media"),
    keep!("codec"),
    keep!("size"),
    keep!("reply"),
    "request = excluded.request, batch = excluded.batch, time_us = excluded.time_us \
     where not $10 or idempotency.batch = excluded.batch"
);

/// Opens and closes claims in the order of the entries, and deletes claims older than a day. A
/// `late` entry does not change a claim that was made for another batch in the meantime.
pub(super) async fn upsert_claims(
    connection: &mut Connection,
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
        sql::query(UPSERT_CLAIM)
            .with(values.finish())
            .execute(connection)
            .await?;
        if let (Connection::Postgres(_), Some(_)) = (&*connection, &claim.reply) {
            postgres::holds::end(connection, &claim.key).await?;
        }
    }
    let oldest = now_us.saturating_sub(CLAIM_LIFETIME_US);
    sql::query("delete from idempotency where time_us <= $1")
        .bind(oldest)
        .execute(connection)
        .await?;
    if let Connection::Postgres(_) = connection {
        postgres::holds::delete_before(connection, oldest).await?;
    }
    Ok(())
}
