//! Builds the queries of lists: chooses the index from which a list starts and the conditions on
//! the rest. Also runs the small lookups that a list needs.
//!
//! Lists go through batches: an index returns batches newest first, and the grades of a batch are
//! adjacent under its number. The order by batch and key is the order by grade id, so lists need no
//! sorting and stop after a page. There are three exceptions. Grades with a certain verdict,
//! grader, channel, outcome or appeal are found by the index over kinds and sorted within the
//! batch. Scores between 0 and 1 are found by their index, likewise. Lists by item, by prompt and
//! by label, which have few rows, are found by indexes of their own and sorted as a whole.

use assay_core::{BatchId, GradeId};

use super::facets::{self, ANY_RUN, RequiredFacets};
use super::keys::NO_STEP;
use super::rows::{POSITION_BITS, SELECT_GRADE, batch_id, id_bytes, key};
use super::sqlite::indexed_by;
use crate::GradeFilter;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection, QueryBuilder};
use crate::spool::Position;

pub(crate) async fn progress(
    connection: &mut Connection,
    spool: &str,
) -> Result<Position, DatabaseError> {
    let row = sql::query("select segment, byte from spool_progress where spool = $1")
        .bind(spool)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(Position::default());
    };
    let (segment, byte): (i64, i64) = (row.try_get("segment")?, row.try_get("byte")?);
    Ok(Position {
        segment: segment.unsigned_abs(),
        byte: byte.unsigned_abs(),
    })
}

/// Number of a run; `None` if there is no such run.
pub(crate) async fn run_number(
    connection: &mut Connection,
    name: &str,
) -> Result<Option<i64>, DatabaseError> {
    let number = sql::query_scalar("select no from runs where name = $1")
        .bind(name)
        .fetch_optional(connection)
        .await?;
    Ok(number)
}

/// The lowest id of a batch that can contain a grade with this id.
fn lowest_batch(grade: u128) -> u128 {
    grade.saturating_sub(1 << POSITION_BITS)
}

/// Number and id of the batches whose range of ids includes the position just below `before`. In
/// practice none or one.
pub(crate) async fn batches_around(
    connection: &mut Connection,
    before: u128,
) -> Result<Vec<(i64, BatchId)>, DatabaseError> {
    let lowest = lowest_batch(before);
    let rows = sql::query("select no, id from batches where id < $1 and id >= $2 order by id desc")
        .bind(id_bytes(before))
        .bind(id_bytes(lowest))
        .fetch_all(connection)
        .await?;
    rows.iter()
        .map(|row| Ok((row.try_get("no")?, batch_id(row.try_get("id")?, "batches")?)))
        .collect()
}

/// The key of a grade; `None` if it is not stored.
pub(crate) async fn grade_key(
    connection: &mut Connection,
    grade: GradeId,
) -> Result<Option<i64>, DatabaseError> {
    for (number, batch) in batches_around(connection, grade.into()).await? {
        let position = u128::from(grade) - u128::from(batch) - 1;
        let Some(position) = u32::try_from(position)
            .ok()
            .filter(|position| position >> POSITION_BITS == 0)
        else {
            continue;
        };
        let stored: Option<i64> = sql::query_scalar("select key from grades where key = $1")
            .bind(key(number, position))
            .fetch_optional(connection)
            .await?;
        if stored.is_some() {
            return Ok(stored);
        }
    }
    Ok(None)
}

/// The largest number of a batch with an id below `before`; 0 if there is none.
pub(crate) async fn last_batch_before(
    connection: &mut Connection,
    before: u128,
) -> Result<i64, DatabaseError> {
    let number = sql::query_scalar("select coalesce(max(no), 0) from batches where id < $1")
        .bind(id_bytes(before))
        .fetch_one(connection)
        .await?;
    Ok(number)
}

/// The index from which a list starts.
#[derive(Debug, PartialEq)]
enum ListSource<'f> {
    Keys(&'f [i64]),
    /// The labels of comments.
    Label(&'f str),
    Batch,
    Item(&'f str),
    Step(i64),
    /// The steps in which a prompt was visited.
    Prompt(&'f str),
    /// A facet and its run.
    Facet(&'f (String, i64)),
    Run,
    All,
}

fn source<'f>(
    filter: &'f GradeFilter,
    required: &'f RequiredFacets,
    lookups: &'f ListLookups,
) -> ListSource<'f> {
    if let Some(keys) = &lookups.keys {
        return ListSource::Keys(keys);
    }
    if let Some(label) = &filter.label {
        return ListSource::Label(label);
    }
    if filter.batch.is_some() {
        return ListSource::Batch;
    }
    if let Some(item) = &filter.item {
        return ListSource::Item(item);
    }
    if let (Some(_), Some(step)) = (&filter.run, filter.step) {
        return ListSource::Step(step);
    }
    if let (Some(_), Some(prompt), true) =
        (&filter.run, &filter.prompt_key, lookups.prompt_has_steps)
    {
        return ListSource::Prompt(prompt);
    }
    match required.all_of.first() {
        Some(facet) => ListSource::Facet(facet),
        None if filter.run.is_some() => ListSource::Run,
        None => ListSource::All,
    }
}

/// Ids of the first and the last of several batches, as they are stored.
pub(crate) type BatchEnds = (Vec<u8>, Vec<u8>);

/// Where a list starts, and its order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ListStart {
    /// With the newest grade, or with the first one before another; newest first.
    Before(Option<GradeId>),
    /// With the first grade after another; oldest first.
    After(GradeId),
}

impl ListStart {
    /// The grade before or after which the list starts.
    pub(crate) fn cursor(self) -> Option<GradeId> {
        match self {
            Self::Before(cursor) => cursor,
            Self::After(cursor) => Some(cursor),
        }
    }
}

/// The results of the lookups for a list.
#[derive(Debug, Default)]
pub(crate) struct ListLookups {
    /// Number of the filter's run; `None` without one.
    pub(crate) run: Option<i64>,
    /// Numbers of the kinds that match the filter; `None` if the filter does not restrict them.
    pub(crate) kinds: Option<Vec<i64>>,
    /// Whether all visits of the filter's prompt have a step, by which they are found.
    pub(crate) prompt_has_steps: bool,
    /// The first and the last batch of the filter's run and range of steps; `None` without both.
    pub(crate) step_ends: Option<BatchEnds>,
    /// The [`batches_around`] the position at which the page starts.
    pub(crate) cursor_batches: Vec<(i64, BatchId)>,
    /// The only grades of the list, at most [`MAX_KEYS`]; `None` for all.
    pub(crate) keys: Option<Vec<i64>>,
}

/// Most grades to which a list can be restricted by their keys.
pub(crate) const MAX_KEYS: usize = 256;

/// Whether all visits of a prompt have a step.
pub(crate) async fn prompt_has_steps(
    connection: &mut Connection,
    run: i64,
    prompt: &str,
) -> Result<bool, DatabaseError> {
    let without_step = "select count(*) from prompt_history \
                        where run = $1 and prompt_key = $2 and step = $3";
    let visits: i64 = sql::query_scalar(without_step)
        .bind(run)
        .bind(prompt)
        .bind(NO_STEP)
        .fetch_one(connection)
        .await?;
    Ok(visits == 0)
}

/// The first and the last batch of a run in a range of steps; `None` if it has none.
pub(crate) async fn step_ends(
    connection: &mut Connection,
    run: i64,
    (min, max): (i64, i64),
) -> Result<Option<BatchEnds>, DatabaseError> {
    const FIRST: &str = concat!(
        "select id from batches",
        indexed_by!("batches_by_step"),
        " where run = $1 and step between $2 and $3 order by id limit 1"
    );
    const LAST: &str = concat!(
        "select id from batches",
        indexed_by!("batches_by_step"),
        " where run = $1 and step between $2 and $3 order by id desc limit 1"
    );
    let mut ends = [None, None];
    for (end, sql) in ends.iter_mut().zip([FIRST, LAST]) {
        *end = sql::query_scalar(sql)
            .bind(run)
            .bind(min)
            .bind(max)
            .fetch_optional(connection)
            .await?;
    }
    let [first, last] = ends;
    Ok(first.zip(last))
}

/// Numbers of the kinds that match the filter; `None` if the filter does not restrict them.
pub(crate) async fn kinds(
    connection: &mut Connection,
    filter: &GradeFilter,
) -> Result<Option<Vec<i64>>, DatabaseError> {
    let one = Option::as_slice;
    let columns: [(&str, &[String]); 6] = [
        ("grader", one(&filter.grader)),
        ("channel", one(&filter.channel)),
        ("outcome", &filter.outcomes),
        ("verdict", &filter.verdicts),
        ("appeal", &filter.appeals),
        ("cause", &filter.causes),
    ];
    if columns.iter().all(|(_, values)| values.is_empty()) && filter.truncated.is_none() {
        return Ok(None);
    }
    let mut query = QueryBuilder::new("select no from kinds where true");
    for (column, values) in columns {
        if !values.is_empty() {
            query.push(format_args!(" and {column} in ("));
            query.push_list(values.iter().map(String::as_str));
            query.push(")");
        }
    }
    if let Some(truncated) = filter.truncated {
        query.push(" and truncated = ").push_bind(truncated);
    }
    query.push(" order by no");
    Ok(Some(query.build().scalar().fetch_all(connection).await?))
}

/// The query for the grades that match `filter` from `start` on.
pub(crate) fn list(
    filter: &GradeFilter,
    lookups: &ListLookups,
    start: ListStart,
    limit: u32,
) -> QueryBuilder {
    select(
        QueryBuilder::new(SELECT_GRADE),
        filter,
        lookups,
        start,
        limit,
    )
}

/// The query for the batches and keys of the grades that match `filter` from `start` on.
pub(crate) fn ids(
    filter: &GradeFilter,
    lookups: &ListLookups,
    start: ListStart,
    limit: u32,
) -> QueryBuilder {
    let keys = QueryBuilder::new("select g.key, b.id as batch");
    select(keys, filter, lookups, start, limit)
}

/// The query for the number of grades of each kind among the newest `limit` that match `filter`.
pub(crate) fn count_kinds(filter: &GradeFilter, lookups: &ListLookups, limit: u32) -> QueryBuilder {
    let counts = "select k.grader, k.channel, k.outcome, k.verdict, k.truncated, k.cause, \
                  cast(count(*) as bigint) as grades \
                  from kinds k join (select g.kind as kind";
    let newest = ListStart::Before(None);
    let mut query = select(QueryBuilder::new(counts), filter, lookups, newest, limit);
    query.push(
        ") as listed on listed.kind = k.no \
         group by k.grader, k.channel, k.outcome, k.verdict, k.truncated, k.cause",
    );
    query
}

/// Continues a query that selects columns of grades `g`, their batches `b` and kinds `k`.
fn select(
    mut query: QueryBuilder,
    filter: &GradeFilter,
    lookups: &ListLookups,
    start: ListStart,
    limit: u32,
) -> QueryBuilder {
    let ListLookups {
        run,
        kinds,
        step_ends,
        cursor_batches,
        ..
    } = lookups;
    let run = *run;
    // Within a batch, the grades of rare kinds are found by the index over kinds. This costs
    // sorting the few grades of each batch.
    let in_batch = "g.key between b.no << 24 and (b.no << 24) + 16777215";
    let (index, in_batch) = match kinds {
        Some(_) => (indexed_by!("grades_by_kind"), in_batch),
        // `+` removes the affinity of the column; with affinity, SQLite does not use an index over
        // an expression.
        None if is_between(filter) => (
            indexed_by!("grades_by_score"),
            "g.key >> 24 = +b.no and g.score > 0 and g.score < 1",
        ),
        None => ("", in_batch),
    };
    // SQLite joins in the order of a cross join. The condition of it is in `where`, because the
    // standard does not have one of its own.
    let grades_of_batch = format!(
        " cross join grades g{index} cross join kinds k where {in_batch} and k.no = g.kind"
    );
    let required = facets::required(filter, run.unwrap_or(ANY_RUN));
    let source = source(filter, &required, lookups);
    let mut order = "b.id";
    match &source {
        ListSource::Keys(keys) => {
            order = "b.no";
            query.push(
                " from grades g cross join batches b cross join kinds k \
                 where b.no = g.key >> 24 and k.no = g.kind and g.key in (",
            );
            // As many parameters for any number of keys, so that few statements are prepared.
            query.push_list((0..MAX_KEYS).map(|at| keys.get(at).copied()));
            query.push(")");
            if let Some(label) = &filter.label {
                query.push(
                    " and exists (select 1 from comment_labels c where c.grade_key = g.key \
                     and c.label = ",
                );
                query.push_bind(label.as_str()).push(") is true");
            }
        }
        ListSource::Label(label) => {
            // A grade may have several comments with the label.
            query.push(" from (select distinct grade_key from comment_labels where label = ");
            query.push_bind(*label).push(
                ") l cross join grades g cross join batches b cross join kinds k \
                 where g.key = l.grade_key and b.no = g.key >> 24 and k.no = g.kind",
            );
        }
        ListSource::Item(item) => {
            query.push(
                " from items i cross join grades g cross join batches b cross join kinds k \
                 where g.key = i.key and b.no = g.key >> 24 and k.no = g.kind and i.item = ",
            );
            query.push_bind(*item);
        }
        ListSource::Facet((facet, facet_run)) => {
            order = "f.batch";
            query.push(" from facets f cross join batches b");
            query.push(&grades_of_batch);
            query.push(" and b.id = f.batch and f.facet = ");
            query.push_bind(facet.as_str());
            query.push(" and f.run = ").push_bind(*facet_run);
        }
        ListSource::Step(step) => {
            query.push(" from batches b").push(&grades_of_batch);
            query.push(" and b.step = ").push_bind(*step);
        }
        ListSource::Prompt(prompt) => {
            query
                .push(concat!(" from batches b", indexed_by!("batches_by_step")))
                .push(&grades_of_batch);
            query.push(" and b.step in (select step from prompt_history where run = ");
            query.push_bind(run);
            query
                .push(" and prompt_key = ")
                .push_bind(*prompt)
                .push(")");
        }
        ListSource::All
            if filter.since_us.is_some() || filter.until_us.is_some() || has_step(filter) =>
        {
            // Most batches are skipped, which this index allows without reading the rows.
            query
                .push(concat!(" from batches b", indexed_by!("batches_walked")))
                .push(&grades_of_batch);
        }
        ListSource::Batch | ListSource::Run | ListSource::All => {
            query.push(" from batches b").push(&grades_of_batch);
        }
    }
    if let Some(run) = run
        && !matches!(source, ListSource::Facet((_, facet_run)) if *facet_run == run)
    {
        query.push(" and b.run = ").push_bind(run);
    }
    if matches!(
        source,
        ListSource::Facet(_) | ListSource::Run | ListSource::All
    ) {
        narrow_batches(&mut query, &required, run.unwrap_or(ANY_RUN), order);
    }
    if let Some(step) = filter.step
        && !matches!(source, ListSource::Step(_))
    {
        query.push(" and b.step = ").push_bind(step);
    }
    narrow_steps(&mut query, filter, step_ends.as_ref(), &source, order);
    filter_batches(&mut query, filter);
    narrow_cursor(&mut query, start, cursor_batches, order);
    if let Some(kinds) = kinds {
        query.push(" and g.kind in (");
        query.push_list(kinds.iter().copied());
        query.push(")");
    }
    filter_rows(&mut query, filter);
    let direction = match start {
        ListStart::Before(_) => " desc",
        ListStart::After(_) => "",
    };
    query.push(format_args!(
        " order by {order}{direction}, g.key{direction} limit {limit}"
    ));
    query
}

/// Restricts a list to the grades before or after its start. `batches` are those that may contain
/// it, and `order` is the column with the ids of batches.
fn narrow_cursor(
    query: &mut QueryBuilder,
    start: ListStart,
    batches: &[(i64, BatchId)],
    order: &str,
) {
    let Some(cursor) = start.cursor() else {
        return;
    };
    let comparison = match start {
        ListStart::Before(_) => {
            query.push(format_args!(" and {order} < "));
            query.push_bind(id_bytes(cursor));
            "<"
        }
        ListStart::After(_) => {
            query.push(format_args!(" and {order} >= "));
            query.push_bind(id_bytes(lowest_batch(cursor.into())));
            ">"
        }
    };
    for (number, batch) in batches {
        let position = u128::from(cursor) - u128::from(*batch) - 1;
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        query.push(" and (b.no <> ").push_bind(*number);
        query.push(format_args!(" or g.key {comparison} "));
        query.push_bind((number << POSITION_BITS).saturating_add(position));
        query.push(")");
    }
}

/// Whether the filter matches only scores strictly between 0 and 1, which have an index.
fn is_between(filter: &GradeFilter) -> bool {
    filter.score_min.is_some_and(|min| min > 0.0) && filter.score_max.is_some_and(|max| max < 1.0)
}

/// Restricts a list to batches with all required facets. The first facet is the source of the list
/// and needs no condition. With `is true`, because SQLite turns a plain `exists` into a join, which
/// it evaluates after the grades.
fn narrow_batches(query: &mut QueryBuilder, required: &RequiredFacets, run: i64, batch: &str) {
    if required.matches_nothing {
        query.push(" and false");
    }
    for (facet, facet_run) in required.all_of.iter().skip(1) {
        query
            .push(" and exists (select 1 from facets x where x.facet = ")
            .push_bind(facet.clone());
        query.push(" and x.run = ").push_bind(*facet_run);
        query.push(format_args!(" and x.batch = {batch}) is true"));
    }
    for any_of in &required.any_of {
        query.push(" and exists (select 1 from facets x where x.facet in (");
        query.push_list(any_of.iter().cloned());
        query.push(") and x.run = ").push_bind(run);
        query.push(format_args!(" and x.batch = {batch}) is true"));
    }
}

fn has_step(filter: &GradeFilter) -> bool {
    filter.step.is_some() || filter.step_min.is_some() || filter.step_max.is_some()
}

/// The first and last step of the filter's range.
pub(crate) fn step_range(filter: &GradeFilter) -> (i64, i64) {
    (
        filter.step_min.unwrap_or(i64::MIN),
        filter.step_max.unwrap_or(i64::MAX),
    )
}

/// Restricts a list to a range of steps. Steps usually increase with time, so a list of a run that
/// starts at its newest batch looks only between the first and last batch of the range.
fn narrow_steps(
    query: &mut QueryBuilder,
    filter: &GradeFilter,
    ends: Option<&BatchEnds>,
    source: &ListSource<'_>,
    batch: &str,
) {
    if filter.step_min.is_none() && filter.step_max.is_none() {
        return;
    }
    let (min, max) = step_range(filter);
    query.push(" and b.step between ").push_bind(min);
    query.push(" and ").push_bind(max);
    if let (Some((first, last)), ListSource::Facet(_) | ListSource::Run) = (ends, source) {
        query.push(format_args!(" and {batch} >= "));
        query.push_bind(first.clone());
        query.push(format_args!(" and {batch} <= "));
        query.push_bind(last.clone());
    }
}

/// Restricts a list to batches by their ids, callers and times.
fn filter_batches(query: &mut QueryBuilder, filter: &GradeFilter) {
    if let Some(batch) = filter.batch {
        query.push(" and b.id = ").push_bind(id_bytes(batch));
    }
    if let Some(caller) = &filter.caller {
        query.push(" and b.caller = ").push_bind(caller.as_str());
    }
    if let Some(since) = filter.since_us {
        query.push(" and b.last_us >= ").push_bind(since);
    }
    if let Some(until) = filter.until_us {
        query.push(" and b.first_us < ").push_bind(until);
    }
}

/// The largest number of a batch, up to `up_to`, that may contain grades which match the filter;
/// `None` if there is none.
pub(crate) async fn last_batch(
    connection: &mut Connection,
    filter: &GradeFilter,
    lookups: &ListLookups,
    up_to: i64,
) -> Result<Option<i64>, DatabaseError> {
    let mut query = QueryBuilder::new("select max(b.no) as no from batches b where b.no <= ");
    query.push_bind(up_to);
    if let Some(run) = lookups.run {
        query.push(" and b.run = ").push_bind(run);
    }
    if has_step(filter) {
        let (min, max) = step_range(filter);
        let step = |step: i64| (step.max(min), step.min(max));
        let (min, max) = filter.step.map_or((min, max), step);
        query.push(" and b.step between ").push_bind(min);
        query.push(" and ").push_bind(max);
    }
    filter_batches(&mut query, filter);
    Ok(query.build().scalar().fetch_one(connection).await?)
}

fn filter_rows(query: &mut QueryBuilder, filter: &GradeFilter) {
    if let Some(since) = filter.since_us {
        query.push(" and g.time_us >= ").push_bind(since);
    }
    if let Some(until) = filter.until_us {
        query.push(" and g.time_us < ").push_bind(until);
    }
    for (column, value) in [
        ("g.item", &filter.item),
        ("g.in_group", &filter.group),
        ("g.prompt_key", &filter.prompt_key),
    ] {
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
mod tests;
