//! Reads of dataset checks.

use assay_core::BatchId;

use crate::database::DatabaseError;
use crate::database::rows::{batch_id, count, hash, id_bytes};
use crate::database::sql::{self, Connection, Row};
use crate::dataset_check::DatasetCheck;
use crate::{Record, RecordError};

const TABLE: &str = "dataset_checks";

const SELECT: &str = "select id, datasets, checked, errors, warnings, report, caller, time_us \
     from dataset_checks where id < $1 order by id desc limit $2";

impl Record {
    /// Returns at most `limit` dataset checks with an id below `before`, newest first.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn dataset_checks(
        &self,
        before: Option<BatchId>,
        limit: u32,
    ) -> Result<Vec<DatasetCheck>, RecordError> {
        let before = before.unwrap_or_else(|| u128::MAX.into());
        self.read(async {
            let mut snapshot = self.snapshot_after(|digest| digest.events).await?;
            Ok(list(&mut snapshot, before, limit).await?)
        })
        .await
    }

    /// Returns one dataset check.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn dataset_check(&self, id: BatchId) -> Result<Option<DatasetCheck>, RecordError> {
        let after = u128::from(id).checked_add(1).map(BatchId::from);
        let newest = self.dataset_checks(after, 1).await?;
        Ok(newest.into_iter().find(|check| check.id == id))
    }
}

async fn list(
    connection: &mut Connection,
    before: BatchId,
    limit: u32,
) -> Result<Vec<DatasetCheck>, DatabaseError> {
    let rows = sql::query(SELECT)
        .bind(id_bytes(before))
        .bind(limit)
        .fetch_all(connection)
        .await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<DatasetCheck, DatabaseError> {
    let datasets: String = row.try_get("datasets")?;
    Ok(DatasetCheck {
        id: batch_id(row.try_get("id")?, TABLE)?,
        datasets: serde_json::from_str(&datasets).map_err(|error| DatabaseError::Row {
            table: TABLE,
            column: "datasets",
            reason: error.to_string(),
        })?,
        checked: count(row.try_get("checked")?),
        errors: count(row.try_get("errors")?),
        warnings: count(row.try_get("warnings")?),
        report: hash(row.try_get("report")?, TABLE, "report")?,
        caller: row.try_get("caller")?,
        time_us: row.try_get("time_us")?,
    })
}
