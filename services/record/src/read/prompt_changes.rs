//! Compares the prompts of two sets of rollouts: which were solved in one and not in the other, and
//! what they contribute to the errors of means.

use crate::chart::Sums;
use crate::database::rows::count;
use crate::database::sql::{self, Row};
use crate::database::sums::number;
use crate::database::{DatabaseError, query};
use crate::prompt_changes::{
    PromptChange, PromptChanges, PromptComparison, PromptSquares, PromptSums, RunSteps, SetTotals,
};
use crate::{Record, RecordError};

impl Record {
    /// Compares the prompts of two sets of rollouts with these totals of rewards and of passes, and
    /// returns at most `limit` that flipped.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prompt_comparison(
        &self,
        a: &RunSteps<'_>,
        b: &RunSteps<'_>,
        totals: [SetTotals; 2],
        limit: u32,
    ) -> Result<PromptComparison, RecordError> {
        let (a_run, b_run) = (self.scope.recorded(a.0), self.scope.recorded(b.0));
        self.read(async {
            drop(self.snapshot_after_run(&a_run).await?);
            let mut snapshot = self.snapshot_after_run(&b_run).await?;
            let mut query = sql::query(COMPARE);
            for (run, steps) in [(&a_run, &a.1), (&b_run, &b.1)] {
                let number = query::run_number(&mut snapshot, run).await?;
                // No run has this number.
                query = query.bind(number.unwrap_or(-1));
                query = query.bind(*steps.start()).bind(*steps.end());
            }
            for total in totals.iter().flat_map(|totals| [totals.a, totals.b]) {
                query = query.bind(total.mean().unwrap_or(0.0));
                query = query.bind(total.count.max(1.0));
            }
            let rows = query.bind(i64::from(limit)).fetch_all(&mut snapshot).await;
            Ok(comparison(&rows.map_err(DatabaseError::from)?)?)
        })
        .await
    }
}

/// Whether steps are those of a whole run.
macro_rules! is_whole {
    ($first:literal, $last:literal) => {
        concat!(
            "cast(",
            $first,
            " as bigint) = -9223372036854775808 and cast(",
            $last,
            " as bigint) = 9223372036854775807"
        )
    };
}

/// The prompts of a set, with what each contributes to the errors of its means. The parameters are
/// the run, its first and last step, and the mean and the count of rewards and of passes.
macro_rules! select_set {
    ($in_a:literal, $run:literal, $first:literal, $last:literal,
     rewards: $reward:literal, $rewards:literal, passes: $pass:literal, $passes:literal) => {
        concat!(
            "select prompt_key, ",
            $in_a,
            " as in_a, sum(judged) as judged, \
             sum(passes) as passes, sum(rewards) as rewards, sum(reward_sum) as reward_sum, \
             sum(reward_squares) as reward_squares, \
             (sum(reward_sum) - sum(rewards) * cast(",
            $reward,
            " as double precision)) / ",
            $rewards,
            " as reward, \
             (sum(passes) - sum(judged) * cast(",
            $pass,
            " as double precision)) / ",
            $passes,
            " as pass from (select prompt_key, judged, passes, rewards, reward_sum, \
             reward_squares from prompt_totals where run = ",
            $run,
            " and ",
            is_whole!($first, $last),
            " union all select prompt_key, judged, passes, rewards, reward_sum, reward_squares \
             from prompt_history where run = ",
            $run,
            " and step between ",
            $first,
            " and ",
            $last,
            " and not (",
            is_whole!($first, $last),
            ")) as visits group by prompt_key"
        )
    };
}

/// A row of sums, and one for each prompt that flipped. The visits of a set, or their sums if it is
/// a whole run, are read once. Rows of
/// both sets are joined by prompt as a union, because a full join would read one set for each
/// prompt of the other.
const COMPARE: &str = concat!(
    "with visits as (",
    select_set!("1", "$1", "$2", "$3", rewards: "$7", "$8", passes: "$11", "$12"),
    " union all ",
    select_set!("0", "$4", "$5", "$6", rewards: "$9", "$10", passes: "$13", "$14"),
    "), prompts as materialized (select prompt_key, \
     max(in_a) as in_a, max(1 - in_a) as in_b, \
     sum(case in_a when 1 then judged else 0 end) as a_judged, \
     sum(case in_a when 1 then 0 else judged end) as b_judged, \
     sum(case in_a when 1 then passes else 0 end) as a_passes, \
     sum(case in_a when 1 then 0 else passes end) as b_passes, \
     sum(case in_a when 1 then rewards else 0 end) as a_rewards, \
     sum(case in_a when 1 then 0 else rewards end) as b_rewards, \
     sum(case in_a when 1 then reward_sum else 0.0 end) as a_reward_sum, \
     sum(case in_a when 1 then 0.0 else reward_sum end) as b_reward_sum, \
     sum(case in_a when 1 then reward_squares else 0.0 end) as a_reward_squares, \
     sum(case in_a when 1 then 0.0 else reward_squares end) as b_reward_squares, \
     sum(case in_a when 1 then reward else 0.0 end) as a_reward, \
     sum(case in_a when 1 then 0.0 else reward end) as b_reward, \
     sum(case in_a when 1 then pass else 0.0 end) as a_pass, \
     sum(case in_a when 1 then 0.0 else pass end) as b_pass \
     from visits group by prompt_key), \
     changed as (select prompt_key, a_judged, a_passes, b_judged, b_passes from prompts \
     where a_judged > 0 and b_judged > 0 \
     and (a_passes * 2 < a_judged) <> (b_passes * 2 < b_judged) \
     order by abs(b_passes * 1.0 / b_judged - a_passes * 1.0 / a_judged) desc, prompt_key \
     limit $15) \
     select null as prompt_key, \
     count(case when a_judged > 0 and b_judged > 0 then 1 end) as common, \
     count(case when a_passes * 2 < a_judged and b_judged > 0 and b_passes * 2 >= b_judged \
     then 1 end) as gained, \
     count(case when a_judged > 0 and a_passes * 2 >= a_judged and b_passes * 2 < b_judged \
     then 1 end) as lost, \
     cast(sum(in_a) as bigint) as a_prompts, cast(sum(in_b) as bigint) as b_prompts, \
     cast(sum(a_judged) as bigint) as a_judged, cast(sum(a_passes) as bigint) as a_passes, \
     cast(sum(b_judged) as bigint) as b_judged, cast(sum(b_passes) as bigint) as b_passes, \
     cast(sum(a_rewards) as bigint) as a_rewards, cast(sum(b_rewards) as bigint) as b_rewards, \
     sum(a_reward_sum) as a_reward_sum, sum(b_reward_sum) as b_reward_sum, \
     sum(a_reward_squares) as a_reward_squares, sum(b_reward_squares) as b_reward_squares, \
     sum(a_reward * a_reward) as reward_a, sum(b_reward * b_reward) as reward_b, \
     sum((b_reward - a_reward) * (b_reward - a_reward)) as reward_difference, \
     sum(a_pass * a_pass) as pass_a, sum(b_pass * b_pass) as pass_b, \
     sum((b_pass - a_pass) * (b_pass - a_pass)) as pass_difference from prompts \
     union all \
     select prompt_key, 0, 0, 0, 0, 0, cast(a_judged as bigint), cast(a_passes as bigint), \
     cast(b_judged as bigint), cast(b_passes as bigint), 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, \
     0.0, 0.0, 0.0 from changed"
);

fn comparison(rows: &[Row]) -> Result<PromptComparison, DatabaseError> {
    let (mut comparison, mut flipped) = (PromptComparison::default(), Vec::new());
    for row in rows {
        match row.try_get::<Option<String>>("prompt_key")? {
            None => comparison = sums(row)?,
            Some(prompt_key) => flipped.push(change(prompt_key, row)?),
        }
    }
    comparison.changes.flipped = flipped;
    Ok(comparison)
}

fn sums(row: &Row) -> Result<PromptComparison, DatabaseError> {
    // Sums of no rows are null.
    let whole = |column: &str| -> Result<u64, DatabaseError> {
        Ok(count(row.try_get::<Option<i64>>(column)?.unwrap_or(0)))
    };
    let real = |column: &str| -> Result<f64, DatabaseError> { Ok(number(row.try_get(column)?)) };
    let set = |set: &str| -> Result<PromptSums, DatabaseError> {
        Ok(PromptSums {
            prompts: whole(&format!("{set}_prompts"))?,
            rewards: Sums {
                count: whole(&format!("{set}_rewards"))?,
                sum: real(&format!("{set}_reward_sum"))?,
                squares: real(&format!("{set}_reward_squares"))?,
            },
            judged: whole(&format!("{set}_judged"))?,
            passes: whole(&format!("{set}_passes"))?,
        })
    };
    let squares = |quantity: &str| -> Result<PromptSquares, DatabaseError> {
        Ok(PromptSquares {
            a: real(&format!("{quantity}_a"))?,
            b: real(&format!("{quantity}_b"))?,
            difference: real(&format!("{quantity}_difference"))?,
        })
    };
    Ok(PromptComparison {
        sums: [set("a")?, set("b")?],
        squares: [squares("reward")?, squares("pass")?],
        changes: PromptChanges {
            common: whole("common")?,
            gained: whole("gained")?,
            lost: whole("lost")?,
            flipped: Vec::new(),
        },
    })
}

fn change(prompt_key: String, row: &Row) -> Result<PromptChange, DatabaseError> {
    Ok(PromptChange {
        prompt_key,
        a_judged: count(row.try_get("a_judged")?),
        a_passes: count(row.try_get("a_passes")?),
        b_judged: count(row.try_get("b_judged")?),
        b_passes: count(row.try_get("b_passes")?),
    })
}
