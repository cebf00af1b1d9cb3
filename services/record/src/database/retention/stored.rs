//! Batches as steps of retention need them.

use assay_core::BatchId;

use super::super::insert::look_up;
use super::super::rows::{batch_id, key};
use crate::database::DatabaseError;
use crate::database::sql::Connection;

/// A batch as its deletion needs it.
pub(super) struct StoredBatch {
    pub(super) number: i64,
    pub(super) id: BatchId,
    pub(super) run: i64,
    pub(super) caller: String,
    pub(super) grades: i64,
    pub(super) grade_bytes: i64,
    pub(super) pack_bytes: i64,
    pub(super) checksum: Option<i64>,
}

/// Those of the batches that are stored and counted, in order.
pub(super) async fn stored_batches(
    connection: &mut Connection,
    numbers: &[i64],
) -> Result<Vec<StoredBatch>, DatabaseError> {
    let rows = look_up(
        connection,
        "select no, id, run, caller, grades, grade_bytes, pack_bytes, checksum from batches \
         where grades is not null and no in",
        numbers,
    )
    .await?;
    let mut batches = rows
        .iter()
        .map(|row| {
            Ok(StoredBatch {
                number: row.try_get("no")?,
                id: batch_id(row.try_get("id")?, "batches")?,
                run: row.try_get("run")?,
                caller: row.try_get("caller")?,
                grades: row.try_get("grades")?,
                grade_bytes: row.try_get("grade_bytes")?,
                pack_bytes: row.try_get("pack_bytes")?,
                checksum: row.try_get("checksum")?,
            })
        })
        .collect::<Result<Vec<_>, DatabaseError>>()?;
    batches.sort_by_key(|batch| batch.number);
    Ok(batches)
}

/// Keys of the first and the last grade that a batch may have.
pub(super) fn keys(number: i64) -> (i64, i64) {
    (key(number, 0), key(number + 1, 0) - 1)
}
