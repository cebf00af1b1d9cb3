//! Reads the last columns of the charts of a run for lists of runs. Unlike
//! [`charts`](super::charts) it seeks the few rows that it needs, so that a list of fifty runs
//! takes milliseconds.

use std::borrow::Cow;

use super::keys::NO_STEP;
use super::rows::{count, id_bytes};
use super::sums::number;
use crate::chart::Sums;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::run_list::Trend;

/// The last `columns` stored buckets of `width` steps of a run.
pub(crate) async fn read(
    connection: &mut Connection,
    run: i64,
    width: i64,
    columns: u32,
) -> Result<Trend, DatabaseError> {
    // Each step is found from the next one by the primary key.
    const SELECT: &str = "with recursive latest (step, place) as (\
         select (select max(step) from step_words where run = $1 and width = $2), \
             cast(1 as bigint) \
         union all \
         select (select max(step) from step_words \
             where run = $1 and width = $2 and step < latest.step), place + 1 \
         from latest where place < $3 and step > $4) \
         select counted.step, counted.word, counted.grades, counted.rewards, \
             counted.reward_sum, counted.reward_squares \
         from latest cross join step_words counted \
         where latest.step > $4 and counted.run = $1 and counted.width = $2 \
             and counted.step = latest.step and counted.topic = 'outcome'";
    let mut trend = Trend::new();
    for row in sql::query(SELECT)
        .bind(run)
        .bind(width)
        .bind(i64::from(columns))
        .bind(NO_STEP)
        .fetch_all(connection)
        .await?
    {
        let column = trend.entry(row.try_get("step")?).or_default();
        let grades = count(row.try_get("grades")?);
        column.grades += grades;
        if row.try_get::<Cow<'_, str>>("word")? == "failed" {
            column.failed += grades;
        }
        column.rewards.add(&Sums {
            count: count(row.try_get("rewards")?),
            sum: number(row.try_get("reward_sum")?),
            squares: number(row.try_get("reward_squares")?),
        });
    }
    Ok(trend)
}

/// The number of grades of a run in batches whose ids begin at or after a time.
pub(crate) async fn grades_since(
    connection: &mut Connection,
    run: i64,
    since_us: i64,
) -> Result<u64, DatabaseError> {
    let since_ms = u64::try_from(since_us / 1_000).unwrap_or(0);
    let grades: i64 = sql::query_scalar(
        "select cast(coalesce(sum(grades), 0) as bigint) from batches \
         where run = $1 and id >= $2",
    )
    .bind(run)
    // The time is in the highest 48 bits of an id.
    .bind(id_bytes(u128::from(since_ms) << 80))
    .fetch_one(connection)
    .await?;
    Ok(count(grades))
}
