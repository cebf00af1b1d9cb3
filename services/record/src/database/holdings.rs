//! What the record holds, by run and caller: sums over the batches, changed in the transactions
//! that change these, and read for the page of the storage.

use std::collections::BTreeMap;
use std::ops::SubAssign;

use super::insert::Insert;
use super::keys::{Amounts, AppliedBatch};
use super::sums::add_counts;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};

const UPSERT: Insert = Insert {
    prefix: "insert into holdings (run, caller, batches, grades, grade_bytes, pack_bytes)",
    columns: 6,
    suffix: concat!(
        "on conflict (run, caller) do update set ",
        add_counts!("holdings": "batches", "grades", "grade_bytes", "pack_bytes")
    ),
};

/// Adds what a transaction adds to counted batches.
pub(super) async fn add<'b>(
    connection: &mut Connection,
    batches: impl Iterator<Item = &'b AppliedBatch<'b>>,
) -> Result<(), DatabaseError> {
    let mut sums: BTreeMap<(i64, &str), (u64, Amounts)> = BTreeMap::new();
    for batch in batches.filter(|batch| batch.counted) {
        let key = (batch.run, batch.entry.caller.as_ref());
        let (count, sum) = sums.entry(key).or_default();
        *count += u64::from(batch.new);
        sum.grades += batch.added.grades;
        sum.grade_bytes += batch.added.grade_bytes;
        sum.pack_bytes += batch.added.pack_bytes;
    }
    let rows: Vec<_> = sums
        .into_iter()
        .filter(|(_, added)| *added != (0, Amounts::default()))
        .collect();
    UPSERT
        .run(
            connection,
            &rows,
            |values, ((run, caller), (count, sum))| {
                values
                    .add(*run)
                    .add(*caller)
                    .add_count(*count)
                    .add_count(sum.grades)
                    .add_count(sum.grade_bytes)
                    .add_count(sum.pack_bytes);
            },
        )
        .await?;
    Ok(())
}

/// What a run and caller hold, or a change of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeldAmounts {
    pub(super) batches: i64,
    pub(super) grades: i64,
    pub(super) grade_bytes: i64,
    pub(super) pack_bytes: i64,
}

impl SubAssign for HeldAmounts {
    fn sub_assign(&mut self, deleted: Self) {
        self.batches -= deleted.batches;
        self.grades -= deleted.grades;
        self.grade_bytes -= deleted.grade_bytes;
        self.pack_bytes -= deleted.pack_bytes;
    }
}

/// Changes the holdings of a run and caller, and deletes them with their last batch.
pub(super) async fn change(
    connection: &mut Connection,
    run: i64,
    caller: &str,
    change: HeldAmounts,
) -> Result<(), DatabaseError> {
    UPSERT
        .run(connection, &[change], |values, change| {
            values
                .add(run)
                .add(caller)
                .add(change.batches)
                .add(change.grades)
                .add(change.grade_bytes)
                .add(change.pack_bytes);
        })
        .await?;
    sql::query("delete from holdings where run = $1 and caller = $2 and batches = 0")
        .bind(run)
        .bind(caller)
        .execute(connection)
        .await?;
    Ok(())
}
