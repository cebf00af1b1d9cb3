//! Reads of prompts in two sets of rollouts: which were solved in one and not in the other, and how
//! much rewards vary between prompts.

use std::ops::RangeInclusive;

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::database::rows::count;
use crate::database::sums::number;
use crate::database::{DatabaseError, query};
use crate::prompt_changes::{PromptChange, PromptChanges, PromptSpread, RunSteps};
use crate::{Record, RecordError};

impl Record {
    /// Compares the prompts of two sets of rollouts and returns at most `limit` that flipped.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prompt_changes(
        &self,
        a: &RunSteps<'_>,
        b: &RunSteps<'_>,
        limit: u32,
    ) -> Result<PromptChanges, RecordError> {
        let (a_run, b_run) = (self.scope.recorded(a.0), self.scope.recorded(b.0));
        self.read(async {
            drop(self.snapshot_after_run(&a_run).await?);
            let mut snapshot = self.snapshot_after_run(&b_run).await?;
            let runs = (
                query::run_number(&mut snapshot, &a_run).await?,
                query::run_number(&mut snapshot, &b_run).await?,
            );
            match runs {
                (Some(a_run), Some(b_run)) => {
                    let sets = [(a_run, &a.1), (b_run, &b.1)];
                    Ok(changes(&mut snapshot, sets, limit).await?)
                }
                _ => Ok(PromptChanges::default()),
            }
        })
        .await
    }

    /// Returns how rewards of a run deviate from `mean`, by prompt.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prompt_spread(
        &self,
        (run, steps): &RunSteps<'_>,
        mean: f64,
    ) -> Result<PromptSpread, RecordError> {
        const SELECT: &str = "select cast(coalesce(sum(rewards), 0) as bigint) as rewards, \
             coalesce(sum(deviation * deviation), 0.0) as squares from (\
             select sum(rewards) as rewards, sum(reward_sum - rewards * $1) as deviation \
             from prompt_history where run = $2 and step between $3 and $4 \
             group by prompt_key) as prompts";
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            let Some(run) = query::run_number(&mut snapshot, &run).await? else {
                return Ok(PromptSpread::default());
            };
            let query = sqlx::query(SELECT).bind(mean).bind(run);
            let query = query.bind(steps.start()).bind(steps.end());
            let row = query.fetch_one(&mut *snapshot).await;
            let row = row.map_err(DatabaseError::from)?;
            let spread = |row: &SqliteRow| -> Result<PromptSpread, DatabaseError> {
                Ok(PromptSpread {
                    rewards: count(row.try_get("rewards")?),
                    squares: number(row.try_get("squares")?),
                })
            };
            Ok(spread(&row)?)
        })
        .await
    }
}

/// Prompts with judged rollouts in both sets.
macro_rules! common_prompts {
    ($select:literal) => {
        concat!(
            $select,
            " from (select prompt_key, sum(judged) as judged, sum(passes) as passes \
             from prompt_history where run = $1 and step between $2 and $3 \
             group by prompt_key having sum(judged) > 0) as a \
             join (select prompt_key, sum(judged) as judged, sum(passes) as passes \
             from prompt_history where run = $4 and step between $5 and $6 \
             group by prompt_key having sum(judged) > 0) as b on b.prompt_key = a.prompt_key"
        )
    };
}

async fn changes(
    connection: &mut SqliteConnection,
    sets: [(i64, &RangeInclusive<i64>); 2],
    limit: u32,
) -> Result<PromptChanges, DatabaseError> {
    const COUNTS: &str = common_prompts!(
        "select count(*) as common, \
         count(case when a.passes * 2 < a.judged and b.passes * 2 >= b.judged then 1 end) \
         as gained, \
         count(case when a.passes * 2 >= a.judged and b.passes * 2 < b.judged then 1 end) as lost"
    );
    const FLIPPED: &str = concat!(
        common_prompts!(
            "select a.prompt_key as prompt_key, cast(a.judged as bigint) as a_judged, \
             cast(a.passes as bigint) as a_passes, cast(b.judged as bigint) as b_judged, \
             cast(b.passes as bigint) as b_passes"
        ),
        " where (a.passes * 2 < a.judged and b.passes * 2 >= b.judged) \
         or (a.passes * 2 >= a.judged and b.passes * 2 < b.judged) \
         order by abs(b.passes * 1.0 / b.judged - a.passes * 1.0 / a.judged) desc, \
         a.prompt_key limit $7"
    );
    let bind = |sql: &'static str| {
        sets.iter().fold(sqlx::query(sql), |query, (run, steps)| {
            query.bind(*run).bind(*steps.start()).bind(*steps.end())
        })
    };
    let counts = bind(COUNTS).fetch_one(&mut *connection).await?;
    let flipped = bind(FLIPPED).bind(i64::from(limit));
    let flipped = flipped.fetch_all(&mut *connection).await?;
    let flipped = flipped.iter().map(|row| {
        Ok(PromptChange {
            prompt_key: row.try_get("prompt_key")?,
            a_judged: count(row.try_get("a_judged")?),
            a_passes: count(row.try_get("a_passes")?),
            b_judged: count(row.try_get("b_judged")?),
            b_passes: count(row.try_get("b_passes")?),
        })
    });
    Ok(PromptChanges {
        common: count(counts.try_get("common")?),
        gained: count(counts.try_get("gained")?),
        lost: count(counts.try_get("lost")?),
        flipped: flipped.collect::<Result<_, DatabaseError>>()?,
    })
}
