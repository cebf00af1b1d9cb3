//! Counts batches that an earlier release recorded: their grades and bytes, to which batch a pack
//! belongs, and which other batches use its bodies.

use super::super::holdings::{self, HeldAmounts};
use super::super::rows::count;
use super::stored::keys;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::retention_step::StepOutcome;

/// The hashes of the bodies to which the grades with keys from `$1` to `$2` refer.
macro_rules! used {
    () => {
        "with used (hash) as (\
           select task_hash from grades where key between $1 and $2 \
           union select completion_hash from grades where key between $1 and $2 \
           union select prompt_hash from grades where key between $1 and $2 \
             and prompt_hash is not null) "
    };
}

/// Counts batches with about `limit` grades, the oldest first; `done` if none is left.
pub(super) async fn count_batches(
    connection: &mut Connection,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    let mut left = u64::from(limit);
    while left > 0 {
        let Some(grades) = count_batch(connection).await? else {
            return Ok(StepOutcome::DONE);
        };
        left = left.saturating_sub(grades.max(1));
    }
    Ok(StepOutcome::MORE)
}

/// Counts the oldest batch of an earlier release that is not counted; returns the number of its
/// grades, or `None` if there is no such batch.
async fn count_batch(connection: &mut Connection) -> Result<Option<u64>, DatabaseError> {
    let found =
        sql::query("select no, run, caller from batches where grades is null order by no limit 1")
            .fetch_optional(connection)
            .await?;
    let Some(found) = found else {
        return Ok(None);
    };
    let (number, run): (i64, i64) = (found.try_get("no")?, found.try_get("run")?);
    let caller: String = found.try_get("caller")?;
    let (first, last) = keys(number);
    // The first batch that refers to a body is the one that stored it.
    sql::query(concat!(
        used!(),
        "update packs set batch = $3 where batch is null and no in (\
           select b.pack from used cross join bodies b where b.hash = used.hash and b.kind < 3)"
    ))
    .bind(first)
    .bind(last)
    .bind(number)
    .execute(connection)
    .await?;
    sql::query(concat!(
        used!(),
        "insert into body_uses (hash, batch) \
         select used.hash, $3 from used cross join bodies b cross join packs p \
         where b.hash = used.hash and p.no = b.pack and p.batch <> 0 and p.batch <> $3 \
         on conflict do nothing"
    ))
    .bind(first)
    .bind(last)
    .bind(number)
    .execute(connection)
    .await?;
    let sums = sql::query(
        "select count(*) as grades, coalesce(sum(64 + 24 + coalesce(octet_length(item), 0) \
         + coalesce(octet_length(in_group), 0) + coalesce(octet_length(prompt_key), 0) \
         + coalesce(octet_length(prompt_hash), 0) + coalesce(octet_length(components), 0) \
         + coalesce(octet_length(steps), 0) + coalesce(octet_length(measures), 0) \
         + coalesce(octet_length(earlier_evidence), 0) + coalesce(octet_length(error), 0) \
         + coalesce(octet_length(meta), 0) + coalesce(octet_length(checks), 0) \
         + coalesce(octet_length(appeal), 0) + coalesce(octet_length(reward_breakdown), 0)), 0) \
         as bytes, \
         (select coalesce(sum(length(content)), 0) from packs where batch = $3) as packs \
         from grades where key between $1 and $2",
    )
    .bind(first)
    .bind(last)
    .bind(number)
    .fetch_one(connection)
    .await?;
    let (grades, grade_bytes, pack_bytes): (i64, i64, i64) = (
        sums.try_get("grades")?,
        sums.try_get("bytes")?,
        sums.try_get("packs")?,
    );
    sql::query("update batches set grades = $1, grade_bytes = $2, pack_bytes = $3 where no = $4")
        .bind(grades)
        .bind(grade_bytes)
        .bind(pack_bytes)
        .bind(number)
        .execute(connection)
        .await?;
    let added = HeldAmounts {
        batches: 1,
        grades,
        grade_bytes,
        pack_bytes,
    };
    holdings::change(connection, run, &caller, added).await?;
    Ok(Some(count(grades)))
}
