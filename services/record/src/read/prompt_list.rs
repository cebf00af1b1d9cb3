//! Reads of the prompts of a run with the results of their visits.
//!
//! Visits have numbers: twice the step, plus 1 if the visit solves the prompt. The least and the
//! greatest number have the step and the result of the first and of the last visit, without a join
//! or a window. Triggers sum the visits of a whole run in `prompt_totals`; a list of some steps
//! aggregates their visits, which an index has in order of steps.

use std::ops::RangeInclusive;

use assay_rewards::gold::{LEAST_PER_PASS, MIN_AGREEING, MOST_PER_AGREEING};
use assay_rewards::sum;

use crate::database::DatabaseError;
use crate::database::keys::NO_STEP;
use crate::database::rows::count;
use crate::database::sql::{self, Connection, QueryBuilder, Row};
use crate::database::sums::number;
use crate::prompt_list::{PromptCounts, PromptFilter, PromptOrder, PromptStatus, PromptSummary};
use crate::read::answers;
use crate::{Record, RecordError};

impl Record {
    /// Returns the number of prompts of a run by status; the status of the filter is ignored.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prompt_counts(
        &self,
        run: &str,
        filter: &PromptFilter,
    ) -> Result<PromptCounts, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            match VisitRange::of(&mut snapshot, &run, filter).await? {
                Some(visits) => Ok(counts(&mut snapshot, &visits).await?),
                None => Ok(PromptCounts::default()),
            }
        })
        .await
    }

    /// Returns at most `limit` prompts of a run that match the filter, after the first `offset` in
    /// this order.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prompt_list(
        &self,
        run: &str,
        filter: &PromptFilter,
        order: PromptOrder,
        offset: u32,
        limit: u32,
    ) -> Result<Vec<PromptSummary>, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            let Some(visits) = VisitRange::of(&mut snapshot, &run, filter).await? else {
                return Ok(Vec::new());
            };
            let mut query = visits.prompts(
                "select prompt_key, visits, judged, passes, rewards, reward_sum, first_visit, \
                 last_visit",
            );
            if let Some(status) = filter.status {
                query.push(format_args!(" where {}", visits.condition(status)));
            }
            let order = match order {
                PromptOrder::Visits => "visits desc, ",
                PromptOrder::LowestRate => "passes * 1.0 / judged, ",
                PromptOrder::HighestRate => "passes * 1.0 / judged desc, ",
                PromptOrder::LastStep => "last_visit >> 1 desc, ",
                PromptOrder::Key => "",
            };
            query.push(format_args!(" order by {order}prompt_key limit "));
            query.push_bind(i64::from(limit));
            query.push(" offset ").push_bind(i64::from(offset));
            Ok(visits.summaries(&mut snapshot, query).await?)
        })
        .await
    }
}

/// The visits of a run that are counted.
struct VisitRange {
    run: i64,
    steps: RangeInclusive<i64>,
    /// Whether the filter chooses no steps.
    is_whole: bool,
}

impl VisitRange {
    /// The visits of a filter: those with a step or, if the run has no steps, those without one.
    /// `None` if there is no such run.
    async fn of(
        connection: &mut Connection,
        run: &str,
        filter: &PromptFilter,
    ) -> Result<Option<Self>, DatabaseError> {
        let row = sql::query("select no, last_step from runs where name = $1")
            .bind(run)
            .fetch_optional(connection)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let last_step: Option<i64> = row.try_get("last_step")?;
        // Twice a step must be an integer.
        const STEPS: RangeInclusive<i64> = i64::MIN / 4..=i64::MAX / 4;
        let steps = match last_step.or(filter.step_min).or(filter.step_max) {
            Some(_) => {
                let min = filter.step_min.unwrap_or(i64::MIN);
                let max = filter.step_max.unwrap_or(i64::MAX);
                min.max(*STEPS.start())..=max.min(*STEPS.end())
            }
            None => NO_STEP..=NO_STEP,
        };
        Ok(Some(Self {
            run: row.try_get("no")?,
            steps,
            is_whole: filter.step_min.or(filter.step_max).is_none(),
        }))
    }

    /// Whether these are visits with a step.
    fn has_steps(&self) -> bool {
        *self.steps.start() != NO_STEP
    }

    /// The step that counts as 0 in the numbers of visits.
    fn first(&self) -> i64 {
        if self.has_steps() { 0 } else { NO_STEP }
    }

    /// A query that selects from the prompts with these visits.
    fn prompts(&self, select: &str) -> QueryBuilder {
        let mut query = QueryBuilder::new(select);
        if self.is_whole {
            query.push(
                " from (select prompt_key, visits, judged, passes, rewards, reward_sum, solved, \
                 first_visit, last_visit from prompt_totals where visits > 0 and run = ",
            );
            query.push_bind(self.run).push(" and has_step = ");
            query.push_bind(i64::from(self.has_steps()));
            query.push(") as prompts");
            return query;
        }
        query.push(
            " from (select prompt_key, count(*) as visits, cast(sum(judged) as bigint) as judged, \
             cast(sum(passes) as bigint) as passes, cast(sum(rewards) as bigint) as rewards, \
             sum(reward_sum) as reward_sum, cast(sum(visit & 1) as bigint) as solved, \
             min(visit) as first_visit, max(visit) as last_visit \
             from (select prompt_key, judged, passes, rewards, reward_sum, (step - ",
        );
        query.push_bind(self.first());
        query.push(
            ") * 2 + (case when passes * 2 >= judged then 1 else 0 end) as visit \
             from prompt_history where run = ",
        );
        query.push_bind(self.run).push(" and step between ");
        query.push_bind(*self.steps.start()).push(" and ");
        query.push_bind(*self.steps.end());
        query.push(" and judged > 0) as visits group by prompt_key) as prompts");
        query
    }

    /// The prompts that a query of [`VisitRange::prompts`] selects.
    async fn summaries(
        &self,
        connection: &mut Connection,
        query: QueryBuilder,
    ) -> Result<Vec<PromptSummary>, DatabaseError> {
        let rows = query.build().fetch_all(connection).await?;
        let prompts = rows.iter().map(|row| self.summary(row));
        let mut prompts = prompts.collect::<Result<Vec<_>, _>>()?;
        let keys: Vec<&str> = prompts.iter().map(|prompt| &*prompt.prompt_key).collect();
        let mut answers = answers::wrong(connection, self.run, &keys).await?;
        for prompt in &mut prompts {
            prompt.wrong_answer = answers.remove(&prompt.prompt_key);
        }
        Ok(prompts)
    }

    fn summary(&self, row: &Row) -> Result<PromptSummary, DatabaseError> {
        let (first, last): (i64, i64) = (row.try_get("first_visit")?, row.try_get("last_visit")?);
        let step = |visit: i64| self.has_steps().then_some(visit >> 1);
        Ok(PromptSummary {
            prompt_key: row.try_get("prompt_key")?,
            visits: count(row.try_get("visits")?),
            judged: count(row.try_get("judged")?),
            passes: count(row.try_get("passes")?),
            mean_reward: sum::mean(
                number(row.try_get("reward_sum")?),
                count(row.try_get("rewards")?),
            ),
            first_step: step(first),
            last_step: step(last),
            solved_first: first & 1 == 1,
            solved_last: last & 1 == 1,
            wrong_answer: None,
        })
    }
}

impl VisitRange {
    /// The condition on a prompt.
    fn condition(&self, status: PromptStatus) -> String {
        let condition = match status {
            PromptStatus::NeverSolved => "passes = 0",
            PromptStatus::AlwaysSolved => "passes = judged",
            PromptStatus::Lost => "solved > 0 and (last_visit & 1) = 0",
            PromptStatus::Gained => "solved < visits and (last_visit & 1) = 1",
            PromptStatus::Noisy => {
                "solved > 0 and solved < visits and (first_visit & 1) = (last_visit & 1)"
            }
            // Answers are not counted by step.
            PromptStatus::GoldSuspect if !self.is_whole => "1 = 0",
            PromptStatus::GoldSuspect => {
                let run = self.run;
                return format!(
                    "passes * {LEAST_PER_PASS} <= judged and exists (select 1 from answers a \
                     where a.run = {run} and a.prompt_key = prompts.prompt_key and a.pass = 0 \
                     and a.grades >= {MIN_AGREEING} and a.grades * {MOST_PER_AGREEING} >= judged \
                     and passes * {LEAST_PER_PASS} <= a.grades)"
                );
            }
        };
        condition.to_owned()
    }
}

async fn counts(
    connection: &mut Connection,
    visits: &VisitRange,
) -> Result<PromptCounts, DatabaseError> {
    let mut select = "select count(*) as prompts".to_owned();
    for status in PromptStatus::ALL {
        let (condition, name) = (visits.condition(*status), status.name());
        select.push_str(&format!(
            ", count(case when {condition} then 1 end) as {name}"
        ));
    }
    let row = visits
        .prompts(&select)
        .build()
        .fetch_one(connection)
        .await?;
    Ok(PromptCounts {
        prompts: count(row.try_get("prompts")?),
        never_solved: count(row.try_get("never_solved")?),
        always_solved: count(row.try_get("always_solved")?),
        lost: count(row.try_get("lost")?),
        gained: count(row.try_get("gained")?),
        noisy: count(row.try_get("noisy")?),
        gold_suspect: count(row.try_get("gold_suspect")?),
    })
}
