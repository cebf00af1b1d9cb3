//! Reads of runs: their totals, and the sums and counts of their steps.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use assay_rewards::sum;

use crate::access::recorded_run;
use crate::chart::{Counted, Steps, Sums};
use crate::database::DatabaseError;
use crate::database::rows::count;
use crate::database::run_notes::read_tags;
use crate::database::sql::{Connection, QueryBuilder, Row};
use crate::database::sums::number;
use crate::database::{charts, query, rollups, trends};
use crate::pending::Digest;
use crate::rollup::Rollups;
use crate::run_list::{RunFilter, RunKey, RunOrder, Trend};
use crate::scope::Scope;
use crate::{Record, RecordError, RunSummary};

const SELECT: &str = "select name, grades, graded, ungradable, failed, passed, scores, score_sum, \
     rewards, reward_sum, last_step, first_us, last_us, tags, note, archived \
     from runs where grades > 0";

impl Record {
    /// Returns at most `limit` runs, the most recently used first.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn runs(&self, limit: u32) -> Result<Vec<RunSummary>, RecordError> {
        let order = RunOrder::from(RunKey::LastUsed);
        self.run_list(&RunFilter::default(), order, 0, limit).await
    }

    /// Returns at most `limit` runs that match a filter, after the first `offset` of them.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run_list(
        &self,
        filter: &RunFilter,
        order: RunOrder,
        offset: u32,
        limit: u32,
    ) -> Result<Vec<RunSummary>, RecordError> {
        let prefix = match &self.scope {
            Scope::All => String::new(),
            Scope::Caller(caller) => recorded_run(caller, ""),
        };
        let runs = self.read(async {
            let applied = |digest: &Digest| {
                let run = digest.run.as_deref();
                run.is_some_and(|run| run.starts_with(&prefix)) && digest.grades > 0
            };
            let mut snapshot = self.snapshot_after(applied).await?;
            Ok(list(&mut snapshot, &prefix, filter, order, (offset, limit)).await?)
        });
        let runs = runs.await?.into_iter();
        Ok(runs.filter_map(|run| self.scope.own_summary(run)).collect())
    }

    /// Returns the last columns, at most `columns`, of the charts of a run, each `width` steps
    /// wide: 1, 16, 256 or 4,096. Empty for an unknown run.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run_trend(
        &self,
        run: &str,
        width: i64,
        columns: u32,
    ) -> Result<Trend, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            match query::run_number(&mut snapshot, &run).await? {
                Some(number) => Ok(trends::read(&mut snapshot, number, width, columns).await?),
                None => Ok(Trend::new()),
            }
        })
        .await
    }

    /// Returns the number of grades of a run that belong to batches sent at or after `since_us`
    /// (Unix time in microseconds).
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run_grades_since(&self, run: &str, since_us: i64) -> Result<u64, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            match query::run_number(&mut snapshot, &run).await? {
                Some(number) => Ok(trends::grades_since(&mut snapshot, number, since_us).await?),
                None => Ok(0),
            }
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

    /// Returns the rewards of a run by the first step of each bucket of `width` steps, at least 1;
    /// `None` for grades without a step. Empty for an unknown run.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn run_rewards(
        &self,
        run: &str,
        width: i64,
    ) -> Result<BTreeMap<Option<i64>, Sums>, RecordError> {
        let run = self.scope.recorded(run);
        self.read(async {
            let mut snapshot = self.snapshot_after_run(&run).await?;
            match query::run_number(&mut snapshot, &run).await? {
                Some(number) => {
                    Ok(charts::read_rewards(&mut snapshot, number, width.max(1)).await?)
                }
                None => Ok(BTreeMap::new()),
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

async fn find(connection: &mut Connection, run: &str) -> Result<Option<RunSummary>, DatabaseError> {
    let mut query = QueryBuilder::new(SELECT);
    query.push(" and name = ").push_bind(run.to_owned());
    let row = query.build().fetch_optional(connection).await?;
    row.as_ref().map(summary).transpose()
}

/// The runs used last, at most `limit`.
pub(super) async fn last_used(
    connection: &mut Connection,
    limit: u32,
) -> Result<Vec<RunSummary>, DatabaseError> {
    let order = RunOrder::from(RunKey::LastUsed);
    list(connection, "", &RunFilter::default(), order, (0, limit)).await
}

/// The runs whose names start with `prefix` and that match `filter`: after the first ones, at most
/// a number of them.
async fn list(
    connection: &mut Connection,
    prefix: &str,
    filter: &RunFilter,
    order: RunOrder,
    (offset, limit): (u32, u32),
) -> Result<Vec<RunSummary>, DatabaseError> {
    let mut query = QueryBuilder::new(SELECT);
    if !prefix.is_empty() {
        // No text in UTF-8 sorts after the last character.
        query.push(" and name >= ").push_bind(prefix.to_owned());
        query
            .push(" and name < ")
            .push_bind(format!("{prefix}{}", char::MAX));
    }
    if let Some(search) = &filter.search {
        let pattern = format!("%{}%", pattern(&search.to_ascii_lowercase()));
        // The caller does not know the prefix.
        let start = prefix.chars().count() as i64 + 1;
        query
            .push(" and (lower(substr(name, cast(")
            .push_bind(start);
        query
            .push(" as integer))) like ")
            .push_bind(pattern.clone());
        query
            .push(" escape '\\' or lower(note) like ")
            .push_bind(pattern);
        query.push(" escape '\\')");
    }
    if let Some(tag) = &filter.tag {
        query
            .push(" and ' ' || tags || ' ' like ")
            .push_bind(format!("% {} %", pattern(tag)));
        query.push(" escape '\\'");
    }
    if let Some(archived) = filter.archived {
        query
            .push(" and archived = ")
            .push_bind(i64::from(archived));
    }
    let value = match order.key {
        RunKey::LastUsed => "last_us",
        RunKey::Name => "name",
        RunKey::Grades => "grades",
        RunKey::MeanReward => "case when rewards > 0 then reward_sum / rewards end",
        RunKey::PassRate => {
            "case when graded > 0 then cast(passed as double precision) / graded end"
        }
    };
    query.push(format_args!(
        " order by {value} {} nulls last, name limit ",
        order.direction.name()
    ));
    query.push_bind(i64::from(limit));
    query.push(" offset ").push_bind(i64::from(offset));
    let rows = query.build().fetch_all(connection).await?;
    rows.iter().map(summary).collect()
}

/// A text in a pattern of `like` with the escape character `\`.
fn pattern(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if ['\\', '%', '_'].contains(&character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn summary(row: &Row) -> Result<RunSummary, DatabaseError> {
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
        mean_reward: sum::mean(
            number(row.try_get("reward_sum")?),
            count(row.try_get("rewards")?),
        ),
        last_step: row.try_get("last_step")?,
        first_us: row.try_get("first_us")?,
        last_us: row.try_get("last_us")?,
        tags: read_tags(&row.try_get::<Cow<'_, str>>("tags")?),
        note: row.try_get("note")?,
        archived: row.try_get::<i64>("archived")? != 0,
    })
}
