//! Responsible for the shape of list queries: which index leads, what the rest filters. Runs small
//! lookups, decides nothing about waiting entries.
//!
//! Lists go by batches: some index gives batches newest first, and the grades of a batch lie side
//! by side under its number. The order by batch and key *is* the order by grade id, so no list
//! sorts and each stops after a page. There are three exceptions: what a verdict, grader, channel,
//! outcome or appeal keeps of a batch is found by the index over kinds and sorted within the batch;
//! so are scores between 0 and 1 by theirs; and a list by item, whose few rows are found by their
//! own index, is sorted whole.

use assay_core::store::GradeFilter;
use assay_core::{BatchId, GradeId};
use sqlx::sqlite::{Sqlite, SqliteConnection};
use sqlx::{QueryBuilder, Row};

use super::POSITION_BITS;
use super::facets::{self, ANY_RUN, Wanted};
use super::rows::{SELECT_GRADE, batch_id, id_bytes};
use crate::database::DatabaseError;
use crate::spool::Position;

pub(super) async fn progress(
    connection: &mut SqliteConnection,
    spool: &str,
) -> Result<Position, DatabaseError> {
    let row = sqlx::query("select segment, byte from spool_progress where spool = ?")
        .bind(spool)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(Position::default());
    };
    let (segment, byte): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(Position {
        segment: segment.unsigned_abs(),
        byte: byte.unsigned_abs(),
    })
}

/// Number of a run; 0 stands for no run.
pub(super) async fn run_number(
    connection: &mut SqliteConnection,
    name: &str,
) -> Result<Option<i64>, DatabaseError> {
    let number = sqlx::query_scalar("select no from runs where name = ?")
        .bind(name)
        .fetch_optional(connection)
        .await?;
    Ok(number)
}

/// Batches whose range of ids covers the position just below `before`: their number and id. In
/// practice one or none.
pub(super) async fn batches_around(
    connection: &mut SqliteConnection,
    before: u128,
) -> Result<Vec<(i64, BatchId)>, DatabaseError> {
    let lowest = before.saturating_sub(1 << POSITION_BITS);
    let rows = sqlx::query("select no, id from batches where id < ? and id >= ? order by id desc")
        .bind(id_bytes(before))
        .bind(id_bytes(lowest))
        .fetch_all(connection)
        .await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, batch_id(row.try_get(1)?, "batches")?)))
        .collect()
}

/// What a list starts from.
#[derive(Debug, PartialEq)]
enum Lead<'f> {
    Batch,
    Item(&'f str),
    Step(i64),
    /// A facet and the run it stands under.
    Facet(&'f (String, i64)),
    Run,
    All,
}

fn lead<'f>(filter: &'f GradeFilter, wanted: &'f Wanted) -> Lead<'f> {
    if filter.batch.is_some() {
        return Lead::Batch;
    }
    if let Some(item) = &filter.item {
        return Lead::Item(item);
    }
    if let (Some(_), Some(step)) = (&filter.run, filter.step) {
        return Lead::Step(step);
    }
    match wanted.all.first() {
        Some(facet) => Lead::Facet(facet),
        None if filter.run.is_some() => Lead::Run,
        None => Lead::All,
    }
}

/// What was looked up for a list.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Number of the filter's run; `None` without one.
    pub(super) run: Option<i64>,
    /// Numbers of the kinds that the filter keeps; `None` where it keeps all.
    pub(super) kinds: Option<Vec<i64>>,
    /// The batches [`batches_around`] the place in the list.
    pub(super) around: Vec<(i64, BatchId)>,
}

/// Numbers of the kinds the filter keeps; `None` where it keeps all.
pub(super) async fn kinds(
    connection: &mut SqliteConnection,
    filter: &GradeFilter,
) -> Result<Option<Vec<i64>>, DatabaseError> {
    let facts = [
        ("grader", &filter.grader),
        ("channel", &filter.channel),
        ("outcome", &filter.outcome),
        ("verdict", &filter.verdict),
        ("appeal", &filter.appeal),
    ];
    if facts.iter().all(|(_, value)| value.is_none()) {
        return Ok(None);
    }
    let mut query = QueryBuilder::<Sqlite>::new("select no from kinds where true");
    for (column, value) in facts {
        if let Some(value) = value {
            query
                .push(format_args!(" and {column} = "))
                .push_bind(value.as_str());
        }
    }
    query.push(" order by no");
    Ok(Some(
        query.build_query_scalar().fetch_all(connection).await?,
    ))
}

/// The list of `filter` below `before`.
pub(super) fn list(
    filter: &GradeFilter,
    found: &Found,
    before: Option<GradeId>,
    limit: u32,
) -> QueryBuilder<Sqlite> {
    let Found { run, kinds, around } = found;
    let run = *run;
    // Within a batch the grades of rare kinds are found by their index, which costs sorting the few
    // of each batch.
    let in_batch = "g.key between b.no << 24 and (b.no << 24) + 16777215";
    let (index, in_batch) = match kinds {
        Some(_) => ("indexed by grades_by_kind", in_batch),
        // `+` takes the affinity of the column away, under which no index over an expression is
        // used.
        None if is_between(filter) => (
            "indexed by grades_by_score",
            "g.key >> 24 = +b.no and g.score > 0 and g.score < 1",
        ),
        None => ("", in_batch),
    };
    let grades_of_batch = format!(
        " cross join grades g {index} on {in_batch} cross join kinds k on k.no = g.kind where "
    );
    let mut query = QueryBuilder::new(SELECT_GRADE);
    let wanted = facets::wanted(filter, run.unwrap_or(ANY_RUN));
    let lead = lead(filter, &wanted);
    let mut order = "b.id";
    match &lead {
        Lead::Item(item) => {
            query.push(
                " from grades g cross join batches b on b.no = g.key >> 24 \
                 cross join kinds k on k.no = g.kind where g.item = ",
            );
            query.push_bind(*item);
        }
        Lead::Facet((facet, under)) => {
            order = "f.batch";
            query.push(" from facets f cross join batches b on b.id = f.batch");
            query.push(&grades_of_batch).push("f.facet = ");
            query.push_bind(facet.as_str());
            query.push(" and f.run = ").push_bind(*under);
        }
        Lead::Step(step) => {
            query.push(" from batches b").push(&grades_of_batch);
            query.push("b.step = ").push_bind(*step);
        }
        Lead::All
            if filter.since_us.is_some() || filter.until_us.is_some() || filter.step.is_some() =>
        {
            // Most batches are passed over: their index says so without the rows.
            query
                .push(" from batches b indexed by batches_walked")
                .push(&grades_of_batch);
            query.push("true");
        }
        Lead::Batch | Lead::Run | Lead::All => {
            query.push(" from batches b").push(&grades_of_batch);
            query.push("true");
        }
    }
    if let Some(run) = run
        && !matches!(lead, Lead::Facet((_, under)) if *under == run)
    {
        query.push(" and b.run = ").push_bind(run);
    }
    if matches!(lead, Lead::Facet(_) | Lead::Run | Lead::All) {
        narrow_batches(&mut query, &wanted, run.unwrap_or(ANY_RUN), order);
    }
    if let Some(step) = filter.step
        && !matches!(lead, Lead::Step(_))
    {
        query.push(" and b.step = ").push_bind(step);
    }
    if let Some(batch) = filter.batch {
        query.push(" and b.id = ").push_bind(id_bytes(batch));
    }
    if let Some(since) = filter.since_us {
        query.push(" and b.last_us >= ").push_bind(since);
        query.push(" and g.time_us >= ").push_bind(since);
    }
    if let Some(until) = filter.until_us {
        query.push(" and b.first_us < ").push_bind(until);
        query.push(" and g.time_us < ").push_bind(until);
    }
    if let Some(before) = before {
        query.push(format_args!(" and {order} < "));
        query.push_bind(id_bytes(before));
        for (number, batch) in around {
            let end = u128::from(before) - u128::from(*batch) - 1;
            let end = i64::try_from(end).unwrap_or(i64::MAX);
            query.push(" and (b.no <> ").push_bind(*number);
            query.push(" or g.key < ");
            query.push_bind((number << POSITION_BITS).saturating_add(end));
            query.push(")");
        }
    }
    if let Some(kinds) = kinds {
        query.push(" and g.kind in (");
        let mut numbers = query.separated(", ");
        for kind in kinds {
            numbers.push_bind(*kind);
        }
        query.push(")");
    }
    filter_rows(&mut query, filter);
    query.push(format_args!(
        " order by {order} desc, g.key desc limit {limit}"
    ));
    query
}

/// Whether only scores between 0 and 1 are wanted, which have an index.
fn is_between(filter: &GradeFilter) -> bool {
    filter.score_min.is_some_and(|min| min > 0.0) && filter.score_max.is_some_and(|max| max < 1.0)
}

/// Looks only into batches that hold all that is wanted; the first facet leads, and its batches
/// hold it. Compared with 1, because SQLite makes a plain `exists` a join, which it puts behind the
/// grades.
fn narrow_batches(query: &mut QueryBuilder<Sqlite>, wanted: &Wanted, run: i64, batch: &str) {
    if wanted.nothing {
        query.push(" and false");
    }
    for (facet, under) in wanted.all.iter().skip(1) {
        query
            .push(" and 1 = exists (select 1 from facets x where x.facet = ")
            .push_bind(facet.clone());
        query.push(" and x.run = ").push_bind(*under);
        query.push(format_args!(" and x.batch = {batch})"));
    }
    if !wanted.any.is_empty() {
        query.push(" and 1 = exists (select 1 from facets x where x.facet in (");
        let mut facets = query.separated(", ");
        for facet in &wanted.any {
            facets.push_bind(facet.clone());
        }
        query.push(") and x.run = ").push_bind(run);
        query.push(format_args!(" and x.batch = {batch})"));
    }
}

fn filter_rows(query: &mut QueryBuilder<Sqlite>, filter: &GradeFilter) {
    for (column, value) in [("g.item", &filter.item), ("g.in_group", &filter.group)] {
        if let Some(value) = value {
            query.push(format_args!(" and {column} = "));
            query.push_bind(value.as_str());
        }
    }
    if let Some(min) = filter.score_min {
        query.push(" and g.score >= ").push_bind(min);
    }
    if let Some(max) = filter.score_max {
        query.push(" and g.score <= ").push_bind(max);
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Connection;

    use super::*;

    /// How SQLite would run the list.
    async fn plan(filter: &GradeFilter) -> String {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        crate::sqlite::MIGRATIONS
            .run(&mut connection)
            .await
            .unwrap();
        let before = Some(GradeId::from(1 << 90));
        let kinds = kinds(&mut connection, filter)
            .await
            .unwrap()
            .map(|_| vec![1, 2]);
        let found = Found {
            run: filter.run.is_some().then_some(1),
            kinds,
            around: vec![(1, BatchId::from(1))],
        };
        let sql = list(filter, &found, before, 100).into_string();
        let steps = sqlx::query(sqlx::AssertSqlSafe(format!("explain query plan {sql}")))
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let steps: Vec<String> = steps.iter().map(|step| step.get(3)).collect();
        steps.join("\n")
    }

    fn filters() -> Vec<(&'static str, GradeFilter)> {
        let text = || Some("x".to_owned());
        let all = GradeFilter::default;
        vec![
            ("b USING INDEX sqlite_autoindex_batches_1 (id", all()),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    grader: text(),
                    ..all()
                },
            ),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    channel: text(),
                    ..all()
                },
            ),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    verdict: text(),
                    ..all()
                },
            ),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    appeal: text(),
                    ..all()
                },
            ),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    outcome: text(),
                    ..all()
                },
            ),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    run: text(),
                    verdict: text(),
                    ..all()
                },
            ),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    group: text(),
                    ..all()
                },
            ),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    run: text(),
                    group: text(),
                    ..all()
                },
            ),
            (
                "f USING PRIMARY KEY (facet=? AND run=? AND batch<?)",
                GradeFilter {
                    score_min: Some(0.2),
                    score_max: Some(0.7),
                    ..all()
                },
            ),
            (
                "x USING PRIMARY KEY (facet=? AND run=? AND batch=?)",
                GradeFilter {
                    grader: text(),
                    verdict: text(),
                    ..all()
                },
            ),
            (
                "x USING PRIMARY KEY (facet=? AND run=? AND batch=?)",
                GradeFilter {
                    score_min: Some(0.2),
                    ..all()
                },
            ),
            (
                "batches_by_run",
                GradeFilter {
                    run: text(),
                    ..all()
                },
            ),
            (
                "batches_by_run",
                GradeFilter {
                    run: text(),
                    since_us: Some(1),
                    ..all()
                },
            ),
            (
                "batches_by_run",
                GradeFilter {
                    run: text(),
                    score_max: Some(0.2),
                    ..all()
                },
            ),
            (
                "b USING INDEX batches_walked (id<?)",
                GradeFilter {
                    step: Some(1),
                    ..all()
                },
            ),
            (
                "b USING INDEX batches_walked (id<?)",
                GradeFilter {
                    until_us: Some(1),
                    ..all()
                },
            ),
            (
                "batches_by_step",
                GradeFilter {
                    run: text(),
                    step: Some(1),
                    ..all()
                },
            ),
            (
                "batches_by_step",
                GradeFilter {
                    run: text(),
                    step: Some(1),
                    verdict: text(),
                    ..all()
                },
            ),
            (
                "b USING INDEX sqlite_autoindex_batches_1 (id",
                GradeFilter {
                    batch: Some(1.into()),
                    ..all()
                },
            ),
        ]
    }

    #[tokio::test]
    async fn no_list_sorts_or_scans_grades() {
        for (index, filter) in filters() {
            let plan = plan(&filter).await;
            // What a filter by kind keeps is found by its index, and sorted within a batch.
            let by_kind = plan.contains("grades_by_kind (kind=? AND rowid>? AND rowid<?)");
            let plan = plan.replace("USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "");
            let plan = plan.replace("USE TEMP B-TREE FOR RIGHT PART OF ORDER BY", "");
            assert!(!plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
            assert!(!plan.contains("SCAN g"), "{filter:?}\n{plan}");
            assert_eq!(
                by_kind,
                filter.grader.is_some()
                    || filter.channel.is_some()
                    || filter.verdict.is_some()
                    || filter.outcome.is_some()
                    || filter.appeal.is_some(),
                "{filter:?}\n{plan}"
            );
            assert!(plan.contains(index), "{filter:?}\n{plan}");
            let by_score = plan.contains("grades_by_score (<expr>=? AND score>? AND score<?)");
            assert_eq!(by_score, is_between(&filter), "{filter:?}\n{plan}");
        }
    }

    #[tokio::test]
    async fn a_list_by_item_is_found_by_its_index() {
        let filter = GradeFilter {
            item: Some("x".to_owned()),
            ..GradeFilter::default()
        };
        let plan = plan(&filter).await;
        assert!(plan.contains("grades_by_item (item=?)"), "{plan}");
    }
}
