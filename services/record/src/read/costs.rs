//! Reads what items cost.

use crate::cost::{Cost, CostFilter, CostKey, CostRow};
use crate::database::rows::{SELECT_GRADE, count, read_listed};
use crate::database::sql::{Connection, QueryBuilder};
use crate::database::{DatabaseError, query};
use crate::pending::Digest;
use crate::{Record, RecordError, StoredGrade};

/// A filter with the number of its run; a run that does not exist has none.
struct Chosen<'f> {
    run: Option<i64>,
    filter: &'f CostFilter,
}

impl Record {
    /// Returns at most `limit` costs of runs, callers or graders, those with the most grading time
    /// first. Empty for a caller that does not see all.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn costs(
        &self,
        key: CostKey,
        filter: &CostFilter,
        limit: u32,
    ) -> Result<Vec<CostRow>, RecordError> {
        if !self.scope.is_all() {
            return Ok(Vec::new());
        }
        self.read(async {
            let mut snapshot = self
                .snapshot_after(|digest| matches(filter, digest))
                .await?;
            match Chosen::of(&mut snapshot, filter).await? {
                Some(chosen) => Ok(chosen.costs(&mut snapshot, key, limit).await?),
                None => Ok(Vec::new()),
            }
        })
        .await
    }

    /// Returns at most `limit` of the slowest grades, slowest first, of which the record keeps
    /// fifty of each run and grader. Empty for a caller that does not see all.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn slowest(
        &self,
        filter: &CostFilter,
        limit: u32,
    ) -> Result<Vec<StoredGrade>, RecordError> {
        if !self.scope.is_all() {
            return Ok(Vec::new());
        }
        self.read(async {
            let mut snapshot = self
                .snapshot_after(|digest| matches(filter, digest))
                .await?;
            match Chosen::of(&mut snapshot, filter).await? {
                Some(chosen) => Ok(chosen.slowest(&mut snapshot, limit).await?),
                None => Ok(Vec::new()),
            }
        })
        .await
    }
}

/// Whether an entry with this digest may contain grades of a filter.
fn matches(filter: &CostFilter, digest: &Digest) -> bool {
    let (run, caller) = (filter.run.as_deref(), filter.caller.as_deref());
    digest.grades > 0
        && run.is_none_or(|run| digest.run.as_deref() == Some(run))
        && caller.is_none_or(|caller| *digest.caller == *caller)
}

impl<'f> Chosen<'f> {
    /// `None` if there is no such run.
    async fn of(
        connection: &mut Connection,
        filter: &'f CostFilter,
    ) -> Result<Option<Self>, DatabaseError> {
        let run = match &filter.run {
            Some(name) => match query::run_number(connection, name).await? {
                Some(number) => Some(number),
                None => return Ok(None),
            },
            None => None,
        };
        Ok(Some(Self { run, filter }))
    }

    /// Adds the conditions on the run and the grader.
    fn restrict(&self, query: &mut QueryBuilder) {
        query.push(" where true");
        if let Some(run) = self.run {
            query.push(" and run = ").push_bind(run);
        }
        if let Some(grader) = &self.filter.grader {
            query.push(" and grader = ").push_bind(grader.clone());
        }
    }

    async fn costs(
        &self,
        connection: &mut Connection,
        key: CostKey,
        limit: u32,
    ) -> Result<Vec<CostRow>, DatabaseError> {
        let column = key.name();
        let mut query = QueryBuilder::new(match key {
            CostKey::Run => "select (select name from runs where no = sums.run) as name, sums.*",
            CostKey::Caller => "select sums.caller as name, sums.*",
            CostKey::Grader => "select sums.grader as name, sums.*",
        });
        query.push(format_args!(
            " from (select {column}, cast(sum(grades) as bigint) as grades, \
             cast(sum(cpu_us) as bigint) as cpu_us, cast(sum(grade_us) as bigint) as grade_us, \
             cast(sum(queue_us) as bigint) as queue_us, cast(sum(work) as bigint) as work, \
             cast(sum(bytes) as bigint) as bytes from costs"
        ));
        self.restrict(&mut query);
        if let Some(caller) = &self.filter.caller {
            query.push(" and caller = ").push_bind(caller.clone());
        }
        query.push(format_args!(
            " group by {column}) as sums order by grade_us desc, {column} limit "
        ));
        query.push_bind(i64::from(limit));
        let rows = query.build().fetch_all(connection).await?;
        rows.iter()
            .map(|row| {
                Ok(CostRow {
                    name: row.try_get("name")?,
                    cost: Cost {
                        grades: count(row.try_get("grades")?),
                        cpu_us: count(row.try_get("cpu_us")?),
                        grade_us: count(row.try_get("grade_us")?),
                        queue_us: count(row.try_get("queue_us")?),
                        work: count(row.try_get("work")?),
                        bytes: count(row.try_get("bytes")?),
                    },
                })
            })
            .collect()
    }

    async fn slowest(
        &self,
        connection: &mut Connection,
        limit: u32,
    ) -> Result<Vec<StoredGrade>, DatabaseError> {
        let mut query = QueryBuilder::new(SELECT_GRADE);
        query.push(" from (select grade_us, key from slow_grades");
        self.restrict(&mut query);
        query.push(" order by grade_us desc, key");
        if self.filter.caller.is_none() {
            // Some may have been deleted.
            query.push(" limit ");
            query.push_bind(i64::from(limit.saturating_mul(4)));
        }
        query.push(
            ") as slow cross join grades g cross join batches b cross join kinds k \
             where g.key = slow.key and b.no = g.key >> 24 and k.no = g.kind",
        );
        if let Some(caller) = &self.filter.caller {
            query.push(" and b.caller = ").push_bind(caller.clone());
        }
        query.push(" order by slow.grade_us desc, slow.key limit ");
        query.push_bind(i64::from(limit));
        let rows = query.build().fetch_all(connection).await?;
        read_listed(connection, &rows).await
    }
}
