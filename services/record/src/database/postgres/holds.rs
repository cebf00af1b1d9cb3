//! Requests that a node is grading, by their idempotency keys, so that no other node grades them.

use assay_core::BatchId;

use crate::RequestKey;
use crate::database::DatabaseError;
use crate::database::postgres::time::now_us;
use crate::database::rows::{batch_id, id_bytes};
use crate::database::sql::{self, Connection};
use crate::held_request::HeldRequest;

/// Holds a request unless another node does. The same request keeps the batch of a node that did
/// not finish.
const HOLD: &str = concat!(
    "insert into holds (caller, key, request, batch, holder, until_us) \
     values ($1, $2, $3, $4, $5, ",
    now_us!(),
    " + $6) on conflict (caller, key) do update set \
     batch = case when holds.request = excluded.request then holds.batch else excluded.batch end, \
     request = excluded.request, holder = excluded.holder, until_us = excluded.until_us \
     where holds.holder = excluded.holder or holds.until_us < ",
    now_us!(),
    " returning batch"
);

const EXTEND: &str = concat!(
    "update holds set until_us = ",
    now_us!(),
    " + $4 where caller = $1 and key = $2 and holder = $3"
);

const RELEASE: &str = "delete from holds where caller = $1 and key = $2 and holder = $3";

/// The batch as which this node grades the request for `lease_us` microseconds; `None` if another
/// node grades it.
pub(crate) async fn hold(
    connection: &mut Connection,
    held: &HeldRequest,
    lease_us: i64,
) -> Result<Option<BatchId>, DatabaseError> {
    let batch: Option<Vec<u8>> = sql::query_scalar(HOLD)
        .bind(held.key.caller.as_ref())
        .bind(held.key.key.as_str())
        .bind(&held.request.as_bytes()[..])
        .bind(id_bytes(held.batch))
        .bind(held.holder.as_str())
        .bind(lease_us)
        .fetch_optional(connection)
        .await?;
    batch.map(|batch| batch_id(&batch, "holds")).transpose()
}

/// Holds the request for `lease_us` microseconds from now.
pub(crate) async fn extend(
    connection: &mut Connection,
    held: &HeldRequest,
    lease_us: i64,
) -> Result<(), DatabaseError> {
    sql::query(EXTEND)
        .bind(held.key.caller.as_ref())
        .bind(held.key.key.as_str())
        .bind(held.holder.as_str())
        .bind(lease_us)
        .execute(connection)
        .await?;
    Ok(())
}

/// Lets other nodes grade the request.
pub(crate) async fn release(
    connection: &mut Connection,
    held: &HeldRequest,
) -> Result<(), DatabaseError> {
    sql::query(RELEASE)
        .bind(held.key.caller.as_ref())
        .bind(held.key.key.as_str())
        .bind(held.holder.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Ends the hold of a request, by whichever node, whose reply is now stored.
pub(crate) async fn end(
    connection: &mut Connection,
    key: &RequestKey,
) -> Result<(), DatabaseError> {
    sql::query("delete from holds where caller = $1 and key = $2")
        .bind(key.caller.as_ref())
        .bind(key.key.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Deletes the holds of requests that were not finished.
pub(crate) async fn delete_before(
    connection: &mut Connection,
    time_us: i64,
) -> Result<(), DatabaseError> {
    sql::query("delete from holds where until_us <= $1")
        .bind(time_us)
        .execute(connection)
        .await?;
    Ok(())
}
