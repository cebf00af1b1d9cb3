//! The contents of entries: bodies in their packs, and claims with their replies. They are written
//! as they are compressed in the spool.

use std::collections::HashSet;

use assay_record::BodyKind;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::insert::{Insert, Values, look_up};
use super::rows::id_bytes;
use crate::CLAIM_LIFETIME_US;
use crate::database::DatabaseError;
use crate::loaded_entry::LoadedEntry;
use crate::packs::{Pack, PackedBody};

const INSERT_BODIES: Insert = Insert {
    prefix: "insert or ignore into bodies (hash, kind, pack, start, size)",
    columns: 5,
    suffix: "",
};

const INSERT_PACKS: Insert = Insert {
    prefix: "insert into packs (no, codec, size, content)",
    columns: 4,
    suffix: "",
};

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

/// Inserts the bodies that are not stored, and the packs that contain at least one of them.
pub(super) async fn insert_bodies(
    connection: &mut SqliteConnection,
    loaded: &[&LoadedEntry],
) -> Result<(), DatabaseError> {
    let first: i64 = sqlx::query_scalar("select coalesce(max(no), 0) + 1 from packs")
        .fetch_one(&mut *connection)
        .await?;
    let packs: Vec<(i64, &Pack)> = (first..)
        .zip(loaded.iter().flat_map(|loaded| &loaded.contents.packs))
        .collect();
    let bodies: Vec<(i64, &PackedBody)> = packs
        .iter()
        .flat_map(|(number, pack)| pack.bodies.iter().map(|body| (*number, body)))
        .collect();
    let written = INSERT_BODIES
        .run(connection, &bodies, |values, (pack, body)| {
            let kind = match body.kind {
                BodyKind::Text => 0,
                BodyKind::Messages => 1,
                BodyKind::Task => 2,
                BodyKind::Policy => 3,
                BodyKind::Pair => 4,
                BodyKind::Report => 5,
            };
            values
                .add(&body.hash.as_bytes()[..])
                .add(kind)
                .add(*pack)
                .add(i64::from(body.start))
                .add(i64::from(body.size));
        })
        .await?;
    let needed = if written == bodies.len() as u64 {
        packs
    } else {
        let hashes: Vec<Vec<u8>> = bodies
            .iter()
            .map(|(_, body)| body.hash.as_bytes().to_vec())
            .collect();
        let select = "select pack from bodies where hash in";
        let used: HashSet<i64> = look_up(connection, select, &hashes)
            .await?
            .iter()
            .map(|row| row.try_get("pack"))
            .collect::<Result<_, _>>()?;
        packs
            .into_iter()
            .filter(|(number, _)| used.contains(number))
            .collect()
    };
    INSERT_PACKS
        .run(connection, &needed, |values, (number, pack)| {
            values
                .add(*number)
                .add(pack.compressed.codec.number())
                .add(i64::from(pack.compressed.size))
                .add(pack.compressed.content.as_slice());
        })
        .await?;
    Ok(())
}

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
