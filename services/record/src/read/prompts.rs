//! Reads of the history of prompts.

use std::collections::BTreeMap;

use assay_rewards::Visit;

use crate::database::keys::NO_STEP;
use crate::database::rows::count;
use crate::database::sql::{self, Connection, QueryBuilder};
use crate::database::sums::number;
use crate::database::{DatabaseError, query};
use crate::pending::Digest;
use crate::{Record, RecordError};

impl Record {
    /// Returns the number of prompts of a run, under its recorded name, that have visits. Lacks
    /// what is not applied within a second.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn prompts(&self, run: &str) -> Result<u64, RecordError> {
        self.read(async {
            let of_run = |digest: &Digest| digest.has_grades_of(run);
            let mut snapshot = self.snapshot_for_batch(of_run).await?;
            Ok(number_of_prompts(&mut snapshot, run).await?)
        })
        .await
    }

    /// Returns the visits of a run by prompt, oldest step first: of these prompts, or of all. Lacks
    /// what is not applied within a second.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn visits(
        &self,
        run: &str,
        prompts: Option<&[String]>,
    ) -> Result<BTreeMap<String, Vec<Visit>>, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let of_run = |digest: &Digest| digest.has_grades_of(&run);
            let mut snapshot = self.snapshot_for_batch(of_run).await?;
            match query::run_number(&mut snapshot, &run).await? {
                Some(number) => Ok(read(&mut snapshot, number, prompts).await?),
                None => Ok(BTreeMap::new()),
            }
        })
        .await
    }
}

async fn number_of_prompts(connection: &mut Connection, run: &str) -> Result<u64, DatabaseError> {
    let prompts: Option<i64> = sql::query_scalar("select prompts from runs where name = $1")
        .bind(run)
        .fetch_optional(connection)
        .await?;
    Ok(prompts.map_or(0, count))
}

async fn read(
    connection: &mut Connection,
    run: i64,
    prompts: Option<&[String]>,
) -> Result<BTreeMap<String, Vec<Visit>>, DatabaseError> {
    const SELECT: &str = "select prompt_key, step, judged, passes, rewards, reward_sum, \
                          reward_squares from prompt_history where run = ";
    let mut visits: BTreeMap<String, Vec<Visit>> = BTreeMap::new();
    // Without names there is one query without a condition on the name.
    let chunks: Vec<Option<&[String]>> = prompts.map_or_else(
        || vec![None],
        |prompts| prompts.chunks(512).map(Some).collect(),
    );
    for chunk in chunks {
        let mut query = QueryBuilder::new(SELECT);
        query.push_bind(run);
        if let Some(chunk) = chunk {
            query.push(" and prompt_key in (");
            query.push_list(chunk.iter().map(String::as_str));
            query.push(")");
        }
        query.push(" order by prompt_key, step");
        for row in query
            .build()
            .persistent(false)
            .fetch_all(connection)
            .await?
        {
            let step: i64 = row.try_get("step")?;
            visits
                .entry(row.try_get("prompt_key")?)
                .or_default()
                .push(Visit {
                    step: (step != NO_STEP).then_some(step),
                    judged: saturating_u32(row.try_get("judged")?),
                    passes: saturating_u32(row.try_get("passes")?),
                    rewards: saturating_u32(row.try_get("rewards")?),
                    reward_sum: number(row.try_get("reward_sum")?),
                    reward_squares: number(row.try_get("reward_squares")?),
                });
        }
    }
    Ok(visits)
}

/// Converts a count to 32 bits, saturating: the sum of several visits may be larger.
fn saturating_u32(stored: i64) -> u32 {
    u32::try_from(count(stored)).unwrap_or(u32::MAX)
}
