//! Reads of grades.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use assay_core::{BatchId, GradeId};

use crate::chart::{Counted, GradeKind, Part, Topic};
use crate::database::DatabaseError;
use crate::database::query::{self, ListLookups, ListStart};
use crate::database::rows::{
    POSITION_BITS, SELECT_GRADE, count, grade_id, key, read_grades, read_listed,
};
use crate::database::sql::{self, Connection, Row};
use crate::pending::Digest;
use crate::{GradeFilter, GradePage, KindCounts, Neighbours, Record, RecordError, StoredGrade};
use sqlx::AssertSqlSafe;

/// Most ids of a search that are found at once.
const SEARCHED: u32 = 1_000;

impl Record {
    /// Returns one grade.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn grade(&self, id: GradeId) -> Result<Option<StoredGrade>, RecordError> {
        self.read(async {
            let applied = |digest: &Digest| digest.may_contain_grade(id);
            let grade = find(&mut self.snapshot_after(applied).await?, id).await?;
            Ok(grade.and_then(|grade| self.scope.own_grade(grade)))
        })
        .await
    }

    /// Returns those of these grades that are stored, in no particular order.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn grades_by_id(
        &self,
        ids: &[GradeId],
    ) -> Result<HashMap<GradeId, StoredGrade>, RecordError> {
        self.read(async {
            let applied = |digest: &Digest| ids.iter().any(|id| digest.may_contain_grade(*id));
            let mut snapshot = self.snapshot_after(applied).await?;
            let found = find_all(&mut snapshot, ids).await?.into_iter();
            let own = found.filter_map(|grade| self.scope.own_grade(grade));
            Ok(own.map(|grade| (grade.grade.grade, grade)).collect())
        })
        .await
    }

    /// Returns at most `limit` ids of grades that match the filter, in the order of
    /// [`grades`](Self::grades), and the id before which the next ones are; `None` at the end.
    ///
    /// # Errors
    /// As [`grades`](Self::grades).
    pub async fn grade_ids(
        &self,
        filter: &GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> Result<(Vec<GradeId>, Option<GradeId>), RecordError> {
        let Some(filter) = self.scope.own_filter(filter) else {
            return Ok((Vec::new(), None));
        };
        if let Some(text) = &filter.text {
            let page = self
                .search(text, &filter, before, limit.min(SEARCHED))
                .await?;
            let ids = page.grades.iter().map(|stored| stored.grade.grade);
            return Ok((ids.collect(), page.next));
        }
        self.read(async {
            let start = ListStart::Before(before);
            let applied = |digest: &Digest| may_match(&filter, start, digest);
            let mut snapshot = self.snapshot_after(applied).await?;
            let Some(lookups) = look_up(&mut snapshot, &filter, start).await? else {
                return Ok((Vec::new(), None));
            };
            let query = query::ids(&filter, &lookups, start, limit.saturating_add(1));
            let rows = query.build().fetch_all(&mut snapshot).await;
            let rows = rows.map_err(DatabaseError::from)?;
            let ids: Result<Vec<GradeId>, DatabaseError> = rows.iter().map(grade_id).collect();
            let mut ids = ids?;
            let more = ids.len() > limit as usize;
            ids.truncate(limit as usize);
            let next = ids.last().copied().filter(|_| more);
            Ok((ids, next))
        })
        .await
    }

    /// Returns at most `limit` grades that match the filter and have an id below `before`, newest
    /// id first. With a search for text, grades are in the order of their recording, and a page
    /// looks at a limited number of them.
    ///
    /// # Errors
    /// [`RecordError`], as all reads; [`RecordError::Unavailable`] for a search if texts are not
    /// searched or their index is not complete yet.
    pub async fn grades(
        &self,
        filter: &GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> Result<GradePage, RecordError> {
        let Some(filter) = self.scope.own_filter(filter) else {
            return Ok(GradePage::default());
        };
        if let Some(text) = &filter.text {
            return self.search(text, &filter, before, limit).await;
        }
        self.read(async {
            let start = ListStart::Before(before);
            let applied = |digest: &Digest| may_match(&filter, start, digest);
            let mut snapshot = self.snapshot_after(applied).await?;
            // One more than the page, to find out whether another page follows.
            let mut grades = list(&mut snapshot, &filter, start, limit.saturating_add(1)).await?;
            let more = grades.len() > limit as usize;
            grades.truncate(limit as usize);
            let next = grades.last().filter(|_| more).map(|last| last.grade.grade);
            let own = grades.into_iter();
            let grades = own
                .filter_map(|grade| self.scope.own_grade(grade))
                .collect();
            Ok(GradePage { grades, next })
        })
        .await
    }

    /// Returns the grades before and after a grade in the list of those that match the filter. The
    /// grade itself need not match. With a search for text, only the one after it.
    ///
    /// # Errors
    /// [`RecordError`], as all reads.
    pub async fn neighbours(
        &self,
        filter: &GradeFilter,
        grade: GradeId,
    ) -> Result<Neighbours, RecordError> {
        let Some(filter) = self.scope.own_filter(filter) else {
            return Ok(Neighbours::default());
        };
        if let Some(text) = &filter.text {
            return self.next_found(text, &filter, grade).await;
        }
        let starts = [ListStart::After(grade), ListStart::Before(Some(grade))];
        self.read(async {
            let applied = |digest: &Digest| {
                let mut starts = starts.into_iter();
                starts.any(|start| may_match(&filter, start, digest))
            };
            let mut snapshot = self.snapshot_after(applied).await?;
            let mut found = [None, None];
            for (found, start) in found.iter_mut().zip(starts) {
                let nearest = list(&mut snapshot, &filter, start, 1).await?.pop();
                *found = nearest.map(|nearest| nearest.grade.grade);
            }
            let [newer, older] = found;
            Ok(Neighbours { newer, older })
        })
        .await
    }

    /// Counts the newest `limit` grades that match the filter by what they have in common. With a
    /// search for text, counts those at which a page looks.
    ///
    /// # Errors
    /// As [`grades`](Self::grades).
    pub async fn kind_counts(
        &self,
        filter: &GradeFilter,
        limit: u32,
    ) -> Result<KindCounts, RecordError> {
        let Some(filter) = self.scope.own_filter(filter) else {
            return Ok(KindCounts::default());
        };
        if let Some(text) = &filter.text {
            return self.count_found(text, &filter).await;
        }
        self.read(async {
            let applied = |digest: &Digest| may_match(&filter, ListStart::Before(None), digest);
            let mut snapshot = self.snapshot_after(applied).await?;
            let Some(lookups) = look_up(&mut snapshot, &filter, ListStart::Before(None)).await?
            else {
                return Ok(KindCounts::default());
            };
            let query = query::count_kinds(&filter, &lookups, limit);
            let rows = query.build().fetch_all(&mut snapshot).await;
            let (counted, all) = count_kinds(&rows.map_err(DatabaseError::from)?)?;
            let more = all >= u64::from(limit);
            Ok(KindCounts { counted, more })
        })
        .await
    }
}

/// Whether an entry with this digest may contain a grade of the list.
pub(super) fn may_match(filter: &GradeFilter, start: ListStart, digest: &Digest) -> bool {
    if filter.label.is_some() && digest.events {
        return true;
    }
    let Some((lowest, highest)) = digest.ids else {
        return false;
    };
    let starts = match start {
        ListStart::Before(before) => before.is_none_or(|before| lowest < before),
        ListStart::After(after) => highest > after,
    };
    let caller = filter.caller.as_deref();
    starts
        && filter.batch.is_none_or(|batch| digest.batch == batch)
        && caller.is_none_or(|caller| *digest.caller == *caller)
        && filter
            .run
            .as_deref()
            .is_none_or(|run| digest.run.as_deref() == Some(run))
        && filter.step.is_none_or(|step| digest.step == Some(step))
        && filter
            .step_min
            .is_none_or(|min| digest.step.is_some_and(|step| step >= min))
        && filter
            .step_max
            .is_none_or(|max| digest.step.is_some_and(|step| step <= max))
}

/// Finds a grade by its key, which follows from its batch and position.
async fn find(
    connection: &mut Connection,
    id: GradeId,
) -> Result<Option<StoredGrade>, DatabaseError> {
    let sql = format!(
        "{SELECT_GRADE} from grades g join batches b on b.no = $1 join kinds k on k.no = g.kind \
         where g.key = $2"
    );
    let sql: Arc<str> = sql.into();
    for (number, batch) in query::batches_around(connection, id.into()).await? {
        // The id of a grade is the id of its batch plus one plus its position.
        let position = u128::from(id) - u128::from(batch) - 1;
        let Ok(position) = u32::try_from(position) else {
            continue;
        };
        // Such a position would be part of the batch's number in the key.
        if position >> POSITION_BITS != 0 {
            continue;
        }
        let row = sql::query(AssertSqlSafe(Arc::clone(&sql)))
            .bind(number)
            .bind(key(number, position))
            .fetch_optional(connection)
            .await?;
        if let Some(row) = row {
            return Ok(read_grades(connection, &[row]).await?.pop());
        }
    }
    Ok(None)
}

/// Finds several grades. Those of a batch are adjacent in a list, so the batches around one grade
/// are usually those of the next ones.
async fn find_all(
    connection: &mut Connection,
    ids: &[GradeId],
) -> Result<Vec<StoredGrade>, DatabaseError> {
    let mut ids = ids.to_vec();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids.dedup();
    let mut around: Vec<(i64, BatchId)> = Vec::new();
    let mut keys = Vec::with_capacity(ids.len());
    for id in &ids {
        let mut nearest = nearest(&around, *id);
        if nearest.is_none() {
            around = query::batches_around(connection, (*id).into()).await?;
            nearest = self::nearest(&around, *id);
        }
        keys.extend(nearest);
    }
    let mut found = Vec::with_capacity(ids.len());
    for keys in keys.chunks(query::MAX_KEYS) {
        let lookups = ListLookups {
            keys: Some(keys.to_vec()),
            ..ListLookups::default()
        };
        let (all, newest) = (GradeFilter::default(), ListStart::Before(None));
        let limit = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        let rows = query::list(&all, &lookups, newest, limit).build();
        let rows = rows.fetch_all(connection).await?;
        found.extend(read_grades(connection, &rows).await?);
    }
    // The nearest batch need not be the one with the grade.
    let known: HashSet<GradeId> = found.iter().map(|stored| stored.grade.grade).collect();
    found.retain(|stored| {
        ids.binary_search_by(|id| stored.grade.grade.cmp(id))
            .is_ok()
    });
    for id in ids.iter().filter(|id| !known.contains(id)) {
        found.extend(find(connection, *id).await?);
    }
    Ok(found)
}

/// The key that a grade has if it belongs to the last batch before it.
fn nearest(around: &[(i64, BatchId)], id: GradeId) -> Option<i64> {
    let before = |(number, batch): &(i64, BatchId)| {
        let position = u128::from(id)
            .checked_sub(u128::from(*batch))?
            .checked_sub(1)?;
        let position = u32::try_from(position).ok()?;
        (position >> POSITION_BITS == 0).then(|| key(*number, position))
    };
    around.iter().find_map(before)
}

/// Sums rows of [`query::count_kinds`]; also returns the number of grades.
pub(super) fn count_kinds(rows: &[Row]) -> Result<(Counted, u64), DatabaseError> {
    let (mut counted, mut all) = (Counted::default(), 0);
    for row in rows {
        let text = |column| row.try_get::<Cow<'_, str>>(column);
        let (grader, channel, outcome) = (text("grader")?, text("channel")?, text("outcome")?);
        let verdict: Option<Cow<'_, str>> = row.try_get("verdict")?;
        let cause: Option<Cow<'_, str>> = row.try_get("cause")?;
        let kind = GradeKind {
            grader: &grader,
            channel: &channel,
            result: verdict.as_deref().unwrap_or(&outcome),
            truncated: row.try_get("truncated")?,
            cause: cause.as_deref(),
        };
        let part = Part {
            grades: count(row.try_get("grades")?),
            ..Part::default()
        };
        all += part.grades;
        counted.word(Topic::Kind, &kind.word(), &part);
    }
    Ok((counted, all))
}

/// At most `limit` grades that match the filter, from `start` on.
pub(super) async fn list(
    connection: &mut Connection,
    filter: &GradeFilter,
    start: ListStart,
    limit: u32,
) -> Result<Vec<StoredGrade>, DatabaseError> {
    let Some(lookups) = look_up(connection, filter, start).await? else {
        return Ok(Vec::new());
    };
    let rows = query::list(filter, &lookups, start, limit)
        .build()
        .fetch_all(connection)
        .await?;
    read_listed(connection, &rows).await
}

/// The lookups for a list; `None` if no grade can match.
pub(super) async fn look_up(
    connection: &mut Connection,
    filter: &GradeFilter,
    start: ListStart,
) -> Result<Option<ListLookups>, DatabaseError> {
    // Runs and kinds are looked up first: if there are none, no grade matches, and otherwise the
    // query compares numbers instead of texts.
    let run = match &filter.run {
        Some(name) => {
            let Some(number) = query::run_number(connection, name).await? else {
                return Ok(None);
            };
            Some(number)
        }
        None => None,
    };
    let kinds = query::kinds(connection, filter).await?;
    if kinds.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    let prompt_has_steps = match (run, &filter.prompt_key) {
        (Some(run), Some(prompt)) => query::prompt_has_steps(connection, run, prompt).await?,
        _ => false,
    };
    let step_ends = match (run, filter.step_min.or(filter.step_max)) {
        (Some(run), Some(_)) => {
            let ends = query::step_ends(connection, run, query::step_range(filter)).await?;
            let Some(ends) = ends else {
                return Ok(None);
            };
            Some(ends)
        }
        _ => None,
    };
    let cursor_batches = match start.cursor() {
        Some(cursor) => query::batches_around(connection, cursor.into()).await?,
        None => Vec::new(),
    };
    Ok(Some(ListLookups {
        run,
        kinds,
        prompt_has_steps,
        step_ends,
        cursor_batches,
        keys: None,
    }))
}
