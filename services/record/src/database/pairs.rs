//! Inserts pairs for training reward models: each once per model, numbered in order of arrival.

use super::insert::Values;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::pair::CollectedPair;

const INSERT: &str = "insert into pairs (model, pair, source, caller, time_us) \
     values ($1, $2, $3, $4, $5) \
     on conflict do nothing";

/// Inserts a pair unless the model has it; returns whether it was new.
pub(super) async fn insert(
    connection: &mut Connection,
    collected: &CollectedPair,
) -> Result<bool, DatabaseError> {
    let mut values = Values::with_capacity(5);
    values
        .add(collected.model.as_str())
        .add(&collected.pair.as_bytes()[..])
        .add(collected.source_json.as_deref())
        .add(collected.caller.as_str())
        .add(collected.time_us);
    let done = sql::query(INSERT)
        .with(values.finish())
        .execute(connection)
        .await?;
    Ok(done > 0)
}
