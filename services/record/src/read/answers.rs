//! Reads answers that many rollouts share, and signs of reward hacking.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_core::GradeId;
use assay_rewards::sum;

use crate::answers::{Cluster, ClusterKind, WrongAnswer};
use crate::chart::Steps;
use crate::database::rows::{batch_id, count, position};
use crate::database::sql::{self, Connection, QueryBuilder, Row};
use crate::database::sums::number;
use crate::database::{DatabaseError, charts, query};
use crate::signals::MIN_GOLDS;
use crate::{Record, RecordError};

impl Record {
    /// Returns the sums of a run that detectors read, by buckets of `width` steps, at least 1.
    /// Empty for an unknown run.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run_signals(&self, run: &str, width: i64) -> Result<Steps, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            match query::run_number(&mut snapshot, &run).await? {
                Some(number) => {
                    Ok(charts::read_signals(&mut snapshot, number, width.max(1)).await?)
                }
                None => Ok(Steps::new()),
            }
        })
        .await
    }

    /// Returns the clusters of a run, at most `limit` of each kind, the largest first. Empty for an
    /// unknown run.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn clusters(&self, run: &str, limit: u32) -> Result<Vec<Cluster>, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            let Some(number) = query::run_number(&mut snapshot, &run).await? else {
                return Ok(Vec::new());
            };
            let mut clusters = repeated(&mut snapshot, number, limit).await?;
            clusters.extend(signs(&mut snapshot, number, limit).await?);
            Ok(clusters)
        })
        .await
    }
}

/// The most frequent wrong answers of prompts of a run, by key.
pub(super) async fn wrong(
    connection: &mut Connection,
    run: i64,
    prompts: &[&str],
) -> Result<BTreeMap<String, WrongAnswer>, DatabaseError> {
    let mut found: BTreeMap<String, WrongAnswer> = BTreeMap::new();
    for chunk in prompts.chunks(512) {
        let mut query = QueryBuilder::new(
            "select a.prompt_key, a.answer, a.gold, a.grades, a.key, \
             (select id from batches where no = a.key >> 24) as batch \
             from answers a where a.pass = 0 and a.run = ",
        );
        query.push_bind(run).push(" and a.prompt_key in (");
        query.push_list(chunk.iter().copied());
        query.push(") order by a.prompt_key, a.grades desc, a.answer");
        let rows = query.build().persistent(false).fetch_all(connection);
        for row in rows.await? {
            let prompt: Cow<'_, str> = row.try_get("prompt_key")?;
            // The most frequent one is first.
            if found.contains_key(prompt.as_ref()) {
                continue;
            }
            let gold: String = row.try_get("gold")?;
            let answer = WrongAnswer {
                answer: row.try_get("answer")?,
                gold: Some(gold).filter(|gold| !gold.is_empty()),
                grades: count(row.try_get("grades")?),
                example: grade_id(&row, "batch", "key")?,
            };
            found.insert(prompt.into_owned(), answer);
        }
    }
    Ok(found)
}

async fn repeated(
    connection: &mut Connection,
    run: i64,
    limit: u32,
) -> Result<Vec<Cluster>, DatabaseError> {
    const SELECT: &str = "select answer, count(distinct gold) as golds, \
         cast(sum(grades) as bigint) as grades, cast(sum(rewards) as bigint) as rewards, \
         sum(reward_sum) as reward_sum, min(first_step) as first_step, \
         max(last_step) as last_step, min(key) as first_key, max(key) as last_key \
         from answers where run = $1 and pass = 1 group by answer \
         having count(distinct gold) >= $2 order by golds desc, answer limit $3";
    let rows = sql::query(SELECT)
        .bind(run)
        .bind(i64::try_from(MIN_GOLDS).unwrap_or(i64::MAX))
        .bind(i64::from(limit))
        .fetch_all(connection)
        .await?;
    let mut clusters = Vec::with_capacity(rows.len());
    for row in &rows {
        let kind = ClusterKind::Answer {
            golds: count(row.try_get("golds")?),
        };
        let value = row.try_get("answer")?;
        clusters.push(cluster(connection, kind, value, row).await?);
    }
    Ok(clusters)
}

async fn signs(
    connection: &mut Connection,
    run: i64,
    limit: u32,
) -> Result<Vec<Cluster>, DatabaseError> {
    const SELECT: &str = "select value, grades, rewards, reward_sum, first_step, last_step, \
         first_key, last_key from signs where run = $1 and kind = $2 \
         order by grades desc, value limit $3";
    let mut clusters = Vec::new();
    for (name, kind) in [
        ("sign", ClusterKind::Sign),
        ("literals", ClusterKind::Literals),
    ] {
        let rows = sql::query(SELECT)
            .bind(run)
            .bind(name)
            .bind(i64::from(limit))
            .fetch_all(connection)
            .await?;
        for row in &rows {
            let value = row.try_get("value")?;
            clusters.push(cluster(connection, kind.clone(), value, row).await?);
        }
    }
    Ok(clusters)
}

async fn cluster(
    connection: &mut Connection,
    kind: ClusterKind,
    value: String,
    row: &Row,
) -> Result<Cluster, DatabaseError> {
    let mut examples = [None, None];
    for (example, key) in examples.iter_mut().zip(["first_key", "last_key"]) {
        let key: i64 = row.try_get(key)?;
        let found = sql::query(
            "select b.id as batch, g.key as key from grades g join batches b on b.no = g.key >> 24 \
             where g.key = $1",
        )
        .bind(key)
        .fetch_optional(connection)
        .await?;
        if let Some(found) = found {
            *example = grade_id(&found, "batch", "key")?;
        }
    }
    Ok(Cluster {
        kind,
        value,
        grades: count(row.try_get("grades")?),
        mean_reward: sum::mean(
            number(row.try_get("reward_sum")?),
            count(row.try_get("rewards")?),
        ),
        first_step: row.try_get("first_step")?,
        last_step: row.try_get("last_step")?,
        examples,
    })
}

/// The id of the grade of a row with the id of its batch and its key; `None` if the batch was
/// deleted.
fn grade_id(row: &Row, batch: &str, key: &str) -> Result<Option<GradeId>, DatabaseError> {
    let batch: Option<&[u8]> = row.try_get(batch)?;
    let Some(batch) = batch else { return Ok(None) };
    let batch = batch_id(batch, "batches")?;
    Ok(Some(batch.grade(position(row.try_get(key)?))))
}
