//! Inserts dataset checks, each once.

use super::insert::Values;
use super::rows::id_bytes;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::dataset_check::DatasetCheck;

const INSERT: &str = "insert into dataset_checks (id, datasets, checked, errors, \
     warnings, report, caller, time_us) values ($1, $2, $3, $4, $5, $6, $7, $8) \
     on conflict do nothing";

/// Inserts a check; returns whether it was new.
pub(super) async fn insert(
    connection: &mut Connection,
    check: &DatasetCheck,
) -> Result<bool, DatabaseError> {
    let mut values = Values::with_capacity(8);
    values
        .add(id_bytes(check.id))
        // Serialising a list of strings does not fail.
        .add(serde_json::to_string(&check.datasets).unwrap_or_default())
        .add_count(check.checked)
        .add_count(check.errors)
        .add_count(check.warnings)
        .add(&check.report.as_bytes()[..])
        .add(check.caller.as_str())
        .add(check.time_us);
    let done = sql::query(INSERT)
        .with(values.finish())
        .execute(connection)
        .await?;
    Ok(done > 0)
}
