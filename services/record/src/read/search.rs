//! Searches for texts: walks the grades that match the search, the newest first, and lists those
//! that match the rest of the filter. Regular expressions, and phrases that the index does not
//! decide, are compared with the texts of the grades that match everything else; without a word
//! that must occur, the walk is over all grades.
//!
//! A page looks at a limited number of matches, so that a frequent word with a filter that few
//! grades pass takes no longer than another. It then has fewer grades than requested, and a cursor.
//! The walk ends without a cursor only where the index has no more matches: grades that were
//! deleted, but not yet from the index, are passed over like others that do not match.

use std::time::Duration;

use assay_core::GradeId;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use super::grades::{count_kinds, look_up, may_match};
use crate::database::indexed::{Expression, GradeTexts};
use crate::database::query::{self, ListLookups, ListStart, MAX_KEYS};
use crate::database::rows::{POSITION_BITS, key, read_listed};
use crate::database::sql::{self, Connection, Row};
use crate::database::text_words::{TextPhrase, words};
use crate::database::texts::bodies::texts;
use crate::database::texts::index::{expression, matching};
use crate::database::{DatabaseError, Snapshot};
use crate::pending::Digest;
use crate::text_pattern::TextPattern;
use crate::{GradeFilter, GradePage, KindCounts, Neighbours, Record, RecordError, TextQuery};

/// Most matches at which a page looks: 10 to 40 ms on a busy machine.
const MAX_MATCHES: usize = 8_192;

/// Most grades of which a page reads the texts, and after how many bytes of them it ends: 20 to 200
/// ms.
const MAX_TEXTS: usize = 1_024;
const MAX_TEXT_BYTES: usize = 8 << 20;

/// Most times that a page skips to another batch. Each time, the index is searched anew.
const MAX_SKIPS: u32 = 8;

/// How long a search waits until the index is complete: it usually is, except after a crash.
const INDEX_TIMEOUT: Duration = Duration::from_secs(1);

/// The keys of a search are its cursor.
const NEWEST: ListStart = ListStart::Before(None);

/// Why texts cannot be searched, and what to do.
const SEARCH_IS_OFF: &str =
    "texts are not searched; set `store.text_search = true` and restart the node";

/// What is read of the matching grades.
#[derive(Clone, Copy)]
enum Wanted {
    /// This many grades.
    Grades(u32),
    /// Counts by kind of all at which a page looks.
    Counts,
}

/// The grades at which a search looks.
enum Candidates {
    /// Those that the index finds.
    Matching(Expression),
    /// All.
    All,
}

impl Candidates {
    /// Phrases that are compared with the texts.
    fn phrases(&self) -> &[TextPhrase] {
        match self {
            Self::Matching(expression) => &expression.phrases,
            Self::All => &[],
        }
    }
}

/// The rows of what was found, and where the next page starts: below this key.
#[derive(Default)]
struct Found {
    rows: Vec<Row>,
    next: Option<i64>,
}

impl Record {
    /// Whether texts are searched.
    #[must_use]
    pub fn searches_texts(&self) -> bool {
        self.shared.database.texts().is_some()
    }

    /// Why a search is rejected: texts are not searched, or a prefix stands for too many words.
    ///
    /// # Errors
    /// As [`grades`](Self::grades).
    pub async fn search_problem(&self, text: &TextQuery) -> Result<Option<String>, RecordError> {
        let Some(texts) = self.shared.database.texts() else {
            return Ok(Some(SEARCH_IS_OFF.to_owned()));
        };
        if !text.has_words() {
            return Ok(None);
        }
        match expression(&mut texts.index.reader().await?, text).await {
            Ok(_) => Ok(None),
            Err(error @ DatabaseError::LongSearch(_)) => Ok(Some(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`grades`](Self::grades), for a filter that is restricted to the scope.
    pub(super) async fn search(
        &self,
        text: &TextQuery,
        filter: &GradeFilter,
        before: Option<GradeId>,
        limit: u32,
    ) -> Result<GradePage, RecordError> {
        self.read(async {
            let wanted = Wanted::Grades(limit);
            let (mut snapshot, found) = self.find(text, filter, before, wanted).await?;
            let grades = read_listed(&mut snapshot, &found.rows).await?;
            let own = grades.into_iter();
            Ok(GradePage {
                grades: own
                    .filter_map(|grade| self.scope.own_grade(grade))
                    .collect(),
                next: found.next.map(cursor),
            })
        })
        .await
    }

    /// As [`kind_counts`](Self::kind_counts), for a filter that is restricted to the scope.
    pub(super) async fn count_found(
        &self,
        text: &TextQuery,
        filter: &GradeFilter,
    ) -> Result<KindCounts, RecordError> {
        self.read(async {
            let (_, found) = self.find(text, filter, None, Wanted::Counts).await?;
            let (counted, _) = count_kinds(&found.rows)?;
            let more = found.next.is_some();
            Ok(KindCounts { counted, more })
        })
        .await
    }

    /// As [`neighbours`](Self::neighbours), for a filter that is restricted to the scope. Empty if
    /// texts are not searched.
    pub(super) async fn next_found(
        &self,
        text: &TextQuery,
        filter: &GradeFilter,
        grade: GradeId,
    ) -> Result<Neighbours, RecordError> {
        if !self.searches_texts() {
            return Ok(Neighbours::default());
        }
        let page = self.search(text, filter, Some(grade), 1).await?;
        Ok(Neighbours {
            newer: None,
            older: page.grades.first().map(|found| found.grade.grade),
        })
    }

    async fn find(
        &self,
        text: &TextQuery,
        filter: &GradeFilter,
        before: Option<GradeId>,
        wanted: Wanted,
    ) -> Result<(Snapshot, Found), RecordError> {
        let database = &self.shared.database;
        let unavailable = |reason: String| RecordError::Unavailable(reason);
        let texts = database
            .texts()
            .ok_or_else(|| unavailable(SEARCH_IS_OFF.to_owned()))?;
        // Entries are in the index once they are applied.
        let applied = |digest: &Digest| may_match(filter, NEWEST, digest);
        self.wait_for(applied, self.shared.read_timeout).await?;
        texts.complete(INDEX_TIMEOUT).await.map_err(unavailable)?;
        // In the order of the writer: in memory, each database has a single connection.
        let mut index = texts.index.reader().await?;
        let candidates = if text.has_words() {
            let expression = expression(&mut index, text).await?;
            expression.map(Candidates::Matching)
        } else {
            Some(Candidates::All)
        };
        let mut snapshot = database.snapshot().await?;
        let lookups = look_up(&mut snapshot, filter, NEWEST).await?;
        let found = match candidates.zip(lookups) {
            Some((candidates, mut lookups)) => {
                let from = start(&mut snapshot, before).await?;
                let mut search = Search {
                    snapshot: &mut snapshot,
                    filter,
                    lookups: &mut lookups,
                    wanted,
                    patterns: text.patterns(),
                    phrases: candidates.phrases(),
                    texts: 0,
                    bytes: 0,
                };
                search.walk(&mut index, &candidates, from).await?
            }
            None => Found::default(),
        };
        Ok((snapshot, found))
    }
}

/// A cursor is a key in the form of an id. It stays valid when its grade and batch are deleted. The
/// ids of grades contain their time, so that no key equals one.
fn cursor(key: i64) -> GradeId {
    u128::from(key.unsigned_abs()).into()
}

/// The largest key below a cursor, or below a grade.
async fn start(connection: &mut Connection, before: Option<GradeId>) -> Result<i64, DatabaseError> {
    let Some(before) = before.map(u128::from) else {
        return Ok(i64::MAX);
    };
    if let Ok(key) = i64::try_from(before) {
        return Ok(key - 1);
    }
    let batch = query::batches_around(connection, before).await?;
    let Some((number, batch)) = batch.first() else {
        let number = query::last_batch_before(connection, before).await?;
        return Ok(last_key(number));
    };
    // The id of a grade is the id of its batch plus one plus its position.
    let position = u32::try_from(before - u128::from(*batch) - 1).unwrap_or(0);
    Ok(key(*number, position) - 1)
}

/// The largest key that a grade of a batch may have.
fn last_key(number: i64) -> i64 {
    key(number.saturating_add(1), 0) - 1
}

/// The next keys that the index finds.
async fn next_keys(
    matches: &mut BoxStream<'_, Result<i64, sqlx::Error>>,
) -> Result<Vec<i64>, DatabaseError> {
    let mut keys = Vec::with_capacity(MAX_KEYS);
    while keys.len() < MAX_KEYS
        && let Some(key) = matches.try_next().await.map_err(DatabaseError::TextIndex)?
    {
        keys.push(key);
    }
    Ok(keys)
}

/// The keys of the newest grades from `from` downward.
async fn keys_from(connection: &mut Connection, from: i64) -> Result<Vec<i64>, DatabaseError> {
    let select = "select key from grades where key <= $1 order by key desc limit $2";
    Ok(sql::query_scalar(select)
        .bind(from)
        .bind(MAX_KEYS as i64)
        .fetch_all(connection)
        .await?)
}

struct Search<'s> {
    snapshot: &'s mut Connection,
    filter: &'s GradeFilter,
    lookups: &'s mut ListLookups,
    wanted: Wanted,
    patterns: &'s [TextPattern],
    phrases: &'s [TextPhrase],
    /// Number and bytes of the texts that were read.
    texts: usize,
    bytes: usize,
}

impl Search<'_> {
    /// Looks at the candidates from the key `from` downward.
    async fn walk(
        &mut self,
        index: &mut Connection,
        candidates: &Candidates,
        mut from: i64,
    ) -> Result<Found, DatabaseError> {
        let mut found = Found::default();
        let (mut looked_at, mut skips) = (0, 0);
        loop {
            match self.skip(from).await? {
                Some(next) => from = next,
                None => return Ok(found),
            }
            let mut matches = match candidates {
                Candidates::Matching(expression) => Some(matching(index, expression, from)),
                Candidates::All => None,
            };
            loop {
                let keys = match &mut matches {
                    Some(matches) => next_keys(matches).await?,
                    None => keys_from(self.snapshot, from).await?,
                };
                let Some(lowest) = keys.last().copied() else {
                    return Ok(found);
                };
                looked_at += keys.len();
                let rows = self.passing(keys, found.rows.len()).await?;
                let none_passes = rows.is_empty();
                found.rows.extend(rows);
                if self.is_full(&mut found)? {
                    return Ok(found);
                }
                if looked_at >= MAX_MATCHES
                    || self.texts >= MAX_TEXTS
                    || self.bytes >= MAX_TEXT_BYTES
                {
                    found.next = Some(lowest);
                    return Ok(found);
                }
                from = lowest - 1;
                if none_passes && self.can_skip(from).await? {
                    break;
                }
            }
            skips += 1;
            if skips > MAX_SKIPS {
                found.next = Some(from + 1);
                return Ok(found);
            }
        }
    }

    /// The rows of those of the keys that match the filter.
    async fn passing(&mut self, keys: Vec<i64>, found: usize) -> Result<Vec<Row>, DatabaseError> {
        self.lookups.keys = Some(keys);
        if !self.patterns.is_empty() || !self.phrases.is_empty() {
            let matching = self.matching_texts().await?;
            if matching.is_empty() {
                return Ok(Vec::new());
            }
            self.lookups.keys = Some(matching);
        }
        let query = match self.wanted {
            // One more than the page, to find out whether another page follows.
            Wanted::Grades(limit) => {
                let left = limit.saturating_add(1) - u32::try_from(found).unwrap_or(limit);
                query::list(self.filter, self.lookups, NEWEST, left)
            }
            Wanted::Counts => query::count_kinds(self.filter, self.lookups, u32::MAX),
        };
        Ok(query.build().fetch_all(&mut *self.snapshot).await?)
    }

    /// Those of the keys that match the filter, the phrases and the regular expressions.
    async fn matching_texts(&mut self) -> Result<Vec<i64>, DatabaseError> {
        let query = query::list(self.filter, self.lookups, NEWEST, u32::MAX);
        let rows = query.build().fetch_all(&mut *self.snapshot).await?;
        let keys = rows
            .iter()
            .map(|row| Ok(row.try_get("key")?))
            .collect::<Result<Vec<i64>, DatabaseError>>()?;
        let mut matching = Vec::new();
        for GradeTexts {
            key,
            completion,
            prompt,
        } in texts(self.snapshot, &keys).await?
        {
            self.texts += 1;
            self.bytes += completion.len() + prompt.len();
            if self.passes(&completion, &prompt) {
                matching.push(key);
            }
        }
        Ok(matching)
    }

    /// Whether a grade with these texts passes.
    fn passes(&self, completion: &str, prompt: &str) -> bool {
        let mut patterns = self.patterns.iter();
        if !patterns.all(|pattern| pattern.passes(completion, prompt)) {
            return false;
        }
        if self.phrases.is_empty() {
            return true;
        }
        let [completion, prompt] = [completion, prompt].map(|text| words(text).collect::<Vec<_>>());
        let mut phrases = self.phrases.iter();
        phrases.all(|phrase| phrase.passes(&completion, &prompt))
    }

    /// Whether a page is full; completes it.
    fn is_full(&self, found: &mut Found) -> Result<bool, DatabaseError> {
        let Wanted::Grades(limit) = self.wanted else {
            return Ok(false);
        };
        let limit = limit as usize;
        if found.rows.len() <= limit {
            return Ok(false);
        }
        found.rows.truncate(limit);
        found.next = match found.rows.last() {
            Some(last) => Some(last.try_get("key")?),
            None => None,
        };
        Ok(true)
    }

    /// Whether the filter selects batches, so that others can be skipped.
    fn selects_batches(&self) -> bool {
        let filter = self.filter;
        self.lookups.run.is_some()
            || filter.batch.is_some()
            || filter.caller.is_some()
            || filter
                .step
                .or(filter.step_min)
                .or(filter.step_max)
                .is_some()
            || filter.since_us.or(filter.until_us).is_some()
    }

    /// The key up to `from` at which the newest grade that passes may be; `None` if there is none.
    async fn skip(&mut self, from: i64) -> Result<Option<i64>, DatabaseError> {
        if !self.selects_batches() {
            return Ok(Some(from));
        }
        let number = from >> POSITION_BITS;
        let batch = query::last_batch(self.snapshot, self.filter, self.lookups, number).await?;
        Ok(batch.map(|batch| last_key(batch).min(from)))
    }

    /// Whether batches can be skipped below the key `from`.
    async fn can_skip(&mut self, from: i64) -> Result<bool, DatabaseError> {
        Ok(self.selects_batches() && self.skip(from).await? != Some(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_keys() {
        let highest = last_key((1 << 39) - 2);
        for key in [1, 1 << POSITION_BITS, highest] {
            assert_eq!(i64::try_from(u128::from(cursor(key))), Ok(key));
        }
    }
}
