//! Reads of prompts in two sets of rollouts: which were solved in one and not in the other, and
//! what they contribute to the errors of means.

use std::ops::RangeInclusive;

use crate::chart::Sums;
use crate::database::rows::count;
use crate::database::sql::{self, Connection, Row};
use crate::database::sums::number;
use crate::database::{DatabaseError, query};
use crate::prompt_changes::{
    PromptChange, PromptChanges, PromptSquares, PromptSums, RunSteps, SetTotals,
};
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

    /// Returns the rewards and passes of the prompts of a set.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prompt_sums(
        &self,
        (run, steps): &RunSteps<'_>,
    ) -> Result<PromptSums, RecordError> {
        const SELECT: &str = "select count(distinct prompt_key) as prompts, \
             cast(coalesce(sum(rewards), 0) as bigint) as rewards, \
             sum(reward_sum) as reward_sum, sum(reward_squares) as reward_squares, \
             cast(coalesce(sum(judged), 0) as bigint) as judged, \
             cast(coalesce(sum(passes), 0) as bigint) as passes \
             from prompt_history where run = $1 and step between $2 and $3";
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            let Some(run) = query::run_number(&mut snapshot, &run).await? else {
                return Ok(PromptSums::default());
            };
            let query = sql::query(SELECT).bind(run);
            let query = query.bind(steps.start()).bind(steps.end());
            let row = query.fetch_one(&mut snapshot).await;
            Ok(prompt_sums(&row.map_err(DatabaseError::from)?)?)
        })
        .await
    }

    /// Returns what the prompts of two sets with these totals of rewards and of passes contribute
    /// to the errors of the mean reward and of the share of passes.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prompt_squares(
        &self,
        a: &RunSteps<'_>,
        b: &RunSteps<'_>,
        [rewards, passes]: [SetTotals; 2],
    ) -> Result<[PromptSquares; 2], RecordError> {
        let (a_run, b_run) = (self.scope.recorded(a.0), self.scope.recorded(b.0));
        self.read(async {
            drop(self.snapshot_after_run(&a_run).await?);
            let mut snapshot = self.snapshot_after_run(&b_run).await?;
            let mut query = sql::query(SQUARES);
            for totals in [rewards, passes] {
                for total in [totals.a, totals.b] {
                    query = query
                        .bind(total.mean().unwrap_or(0.0))
                        .bind(total.count.max(1.0));
                }
            }
            for (run, steps) in [(&a_run, &a.1), (&b_run, &b.1)] {
                let number = query::run_number(&mut snapshot, run).await?;
                // No run has this number.
                query = query.bind(number.unwrap_or(-1));
                query = query.bind(steps.start()).bind(steps.end());
            }
            let row = query.fetch_one(&mut snapshot).await;
            Ok(squares(&row.map_err(DatabaseError::from)?)?)
        })
        .await
    }
}

/// The sums of squares of [`PromptSquares`], for rewards and for passes. Rows of both sets are
/// joined by prompt as a union, because a full join would read the history once for each prompt.
const SQUARES: &str = "select sum(ra * ra) as reward_a, sum(rb * rb) as reward_b, \
     sum((rb - ra) * (rb - ra)) as reward_difference, sum(pa * pa) as pass_a, \
     sum(pb * pb) as pass_b, sum((pb - pa) * (pb - pa)) as pass_difference from (\
     select sum(ra) as ra, sum(rb) as rb, sum(pa) as pa, sum(pb) as pb from (\
     select prompt_key, (reward_sum - rewards * cast($1 as double precision)) / $2 as ra, \
     0.0 as rb, (passes - judged * cast($5 as double precision)) / $6 as pa, 0.0 as pb \
     from prompt_history where run = $9 and step between $10 and $11 \
     union all \
     select prompt_key, 0.0 as ra, \
     (reward_sum - rewards * cast($3 as double precision)) / $4 as rb, \
     0.0 as pa, (passes - judged * cast($7 as double precision)) / $8 as pb \
     from prompt_history where run = $12 and step between $13 and $14) as visits \
     group by prompt_key) as prompts";

fn squares(row: &Row) -> Result<[PromptSquares; 2], DatabaseError> {
    let of = |[a, b, difference]: [&str; 3]| -> Result<PromptSquares, DatabaseError> {
        Ok(PromptSquares {
            a: number(row.try_get(a)?),
            b: number(row.try_get(b)?),
            difference: number(row.try_get(difference)?),
        })
    };
    Ok([
        of(["reward_a", "reward_b", "reward_difference"])?,
        of(["pass_a", "pass_b", "pass_difference"])?,
    ])
}

fn prompt_sums(row: &Row) -> Result<PromptSums, DatabaseError> {
    Ok(PromptSums {
        prompts: count(row.try_get("prompts")?),
        rewards: Sums {
            count: count(row.try_get("rewards")?),
            sum: number(row.try_get("reward_sum")?),
            squares: number(row.try_get("reward_squares")?),
        },
        judged: count(row.try_get("judged")?),
        passes: count(row.try_get("passes")?),
    })
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
    connection: &mut Connection,
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
        sets.iter().fold(sql::query(sql), |query, (run, steps)| {
            query.bind(*run).bind(*steps.start()).bind(*steps.end())
        })
    };
    let counts = bind(COUNTS).fetch_one(connection).await?;
    let flipped = bind(FLIPPED).bind(i64::from(limit));
    let flipped = flipped.fetch_all(connection).await?;
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
