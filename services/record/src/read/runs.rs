//! Reads of runs: their totals, and the sums and counts of their steps.

use std::ops::RangeInclusive;

use assay_rewards::sum;
use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row};

use crate::access::recorded_run;
use crate::chart::{Counted, Steps};
use crate::database::DatabaseError;
use crate::database::rows::count;
use crate::database::sums::number;
use crate::database::{charts, query, rollups};
use crate::pending::Digest;
use crate::rollup::Rollups;
use crate::scope::Scope;
use crate::{Record, RecordError, RunSummary};

const SELECT: &str = "select name, grades, graded, ungradable, failed, passed, scores, score_sum, \
     last_step, first_us, last_us from runs where grades > 0";

impl Record {
    /// Returns at most `limit` runs, the most recently used first.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn runs(&self, limit: u32) -> Result<Vec<RunSummary>, RecordError> {
        let prefix = match &self.scope {
            Scope::All => String::new(),
            Scope::Caller(caller) => recorded_run(caller, ""),
        };
        let runs = self.runs_with(&prefix, limit).await?;
        let own = runs
            .into_iter()
            .filter_map(|run| self.scope.own_summary(run));
        Ok(own.collect())
    }

    /// The runs used last whose names start with `prefix`.
    async fn runs_with(&self, prefix: &str, limit: u32) -> Result<Vec<RunSummary>, RecordError> {
        self.read(async {
            let applied = |digest: &Digest| {
                let run = digest.run.as_deref();
                run.is_some_and(|run| run.starts_with(prefix)) && digest.grades > 0
            };
            let mut snapshot = self.snapshot_after(applied).await?;
            Ok(last_used(&mut snapshot, prefix, limit).await?)
        })
        .await
    }

    /// Returns the summary of one run; `None` if it has no grades.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run(&self, run: &str) -> Result<Option<RunSummary>, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            let found = find(&mut snapshot, &run).await?;
            Ok(found.and_then(|summary| self.scope.own_summary(summary)))
        })
        .await
    }

    /// Returns the counts of a run by buckets of `width` steps, at least 1; see
    /// [`bucket`](crate::chart::bucket). Empty for an unknown run.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run_steps(&self, run: &str, width: i64) -> Result<Steps, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            match query::run_number(&mut snapshot, &run).await? {
                Some(number) => Ok(charts::read(&mut snapshot, number, width.max(1)).await?),
                None => Ok(Steps::new()),
            }
        })
        .await
    }

    /// Returns the counts of a run over a range of steps. Grades without a step are part of every
    /// range that starts at `i64::MIN`. Empty for an unknown run.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run_counts(
        &self,
        run: &str,
        steps: &RangeInclusive<i64>,
    ) -> Result<Counted, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            match query::run_number(&mut snapshot, &run).await? {
                Some(number) => Ok(charts::sum(&mut snapshot, number, steps).await?),
                None => Ok(Counted::default()),
            }
        })
        .await
    }

    /// Returns sums over the grades of a run by step, grader, outcome and verdict. Empty for an
    /// unknown run.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run_series(&self, run: &str) -> Result<Rollups, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            match query::run_number(&mut snapshot, &run).await? {
                Some(number) => Ok(rollups::read(&mut snapshot, number).await?),
                None => Ok(Rollups::new()),
            }
        })
        .await
    }
}

async fn find(
    connection: &mut SqliteConnection,
    run: &str,
) -> Result<Option<RunSummary>, DatabaseError> {
    let mut query = QueryBuilder::<Sqlite>::new(SELECT);
    query.push(" and name = ").push_bind(run.to_owned());
    let row = query.build().fetch_optional(connection).await?;
    row.as_ref().map(summary).transpose()
}

/// The runs used last whose names start with `prefix`, at most `limit`.
pub(super) async fn last_used(
    connection: &mut SqliteConnection,
    prefix: &str,
    limit: u32,
) -> Result<Vec<RunSummary>, DatabaseError> {
    let mut query = QueryBuilder::<Sqlite>::new(SELECT);
    if !prefix.is_empty() {
        // No text in UTF-8 sorts after the last character.
        query.push(" and name >= ").push_bind(prefix.to_owned());
        query
            .push(" and name < ")
            .push_bind(format!("{prefix}{}", char::MAX));
    }
    query
        .push(" order by last_us desc, name limit ")
        .push_bind(i64::from(limit));
    let rows = query.build().fetch_all(connection).await?;
    rows.iter().map(summary).collect()
}

fn summary(row: &SqliteRow) -> Result<RunSummary, DatabaseError> {
    Ok(RunSummary {
        run: row.try_get("name")?,
        grades: count(row.try_get("grades")?),
        graded: count(row.try_get("graded")?),
        ungradable: count(row.try_get("ungradable")?),
        failed: count(row.try_get("failed")?),
        passed: count(row.try_get("passed")?),
        mean_score: sum::mean(
            number(row.try_get("score_sum")?),
            count(row.try_get("scores")?),
        ),
        last_step: row.try_get("last_step")?,
        first_us: row.try_get("first_us")?,
        last_us: row.try_get("last_us")?,
    })
}
