//! The tables of the index of texts: the words of each grade as a `tsvector`, and the batches that
//! are in it.
//!
//! The words are those of [`text_words`](crate::database::text_words), so that searches find the
//! same grades as on SQLite. A `tsvector` keeps at most 256 places of a word and none after 16,383,
//! so it has no places, and phrases are searched in the texts of the grades that have all their
//! words.

use std::collections::BTreeSet;

use futures::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};

use crate::database::DatabaseError;
use crate::database::indexed::{Expression, GradeTexts};
use crate::database::insert::Insert;
use crate::database::rows::count;
use crate::database::sql::{self, Connection};
use crate::database::text_words::{TextPhrase, words};
use crate::text_query::TextQuery;

/// Connections that search.
pub(crate) const READERS: u32 = 2;

/// The keys in a range.
pub(crate) const KEYS: &str = "select key from texts where key between $1 and $2 limit $3";

/// Deletes a grade by its key.
pub(crate) const DELETE: &str = "delete from texts where key = $1";

/// Inserts the words of grades, which are separated by spaces.
const INSERT: Insert = Insert {
    prefix: "insert into texts (key, words) \
             select key, array_to_tsvector(string_to_array(words, ' ')) from (",
    columns: 2,
    suffix: ") as added (key, words) on conflict (key) do update set words = excluded.words",
};

/// The last key of a window of grades from a key downward, exclusive.
const WINDOW: &str = "select key from texts where key <= $1 order by key desc offset $2 limit 1";

/// The grades of a window that match, the newest first.
const IN_WINDOW: &str = "select key from texts \
     where words @@ cast($1 as tsquery) and key > $2 and key <= $3 order by key desc";

/// The same of all, by the index of words: the server would otherwise look at all grades in the
/// order of their keys for a word that it expects to be more frequent.
const RARE: &str = "select key from texts \
     where words @@ cast($1 as tsquery) and key <= $2 order by key + 0 desc limit $3";

/// Grades of the first window, and of the largest.
const WINDOW_ROWS: (i64, i64) = (4_096, 65_536);

/// A search is rare if it matches fewer than one of so many grades: it then finds at most some ten
/// thousand of ten million grades in the index, which are sorted for each part of the result.
const RARE_SHARE: i64 = 256;

/// Rare matches that are read at once: the first time, which usually fills a page, and at most.
const RARE_KEYS: (i64, i64) = (1_024, 8_192);

/// Inserts the texts of grades.
pub(crate) async fn insert(
    connection: &mut Connection,
    grades: &[GradeTexts],
) -> Result<(), DatabaseError> {
    INSERT
        .run(connection, grades, |values, grade| {
            let words: BTreeSet<String> = words(&grade.completion)
                .chain(words(&grade.prompt))
                .collect();
            let words: Vec<String> = words.into_iter().collect();
            values.add(grade.key).add(words.join(" "));
        })
        .await?;
    Ok(())
}

/// Composes the expression of a search: all words must occur, and phrases are compared later.
/// `None` if a term has no words.
pub(crate) fn expression(query: &TextQuery) -> Option<Expression> {
    let (mut conditions, mut phrases) = (Vec::new(), Vec::new());
    for term in query.required().chain(query.excluded()) {
        let phrase = TextPhrase::of_term(term);
        let (last, before) = match phrase.words.split_last() {
            Some(words) => words,
            None if phrase.is_excluded => continue,
            None => return None,
        };
        let open = if phrase.is_prefix { ":*" } else { "" };
        if !phrase.is_excluded {
            conditions.extend(before.iter().map(|word| format!("'{word}'")));
            conditions.push(format!("'{last}'{open}"));
        } else if before.is_empty() {
            conditions.push(format!("!'{last}'{open}"));
        }
        if !before.is_empty() {
            phrases.push(phrase);
        }
    }
    let query = conditions.join(" & ");
    Some(Expression { query, phrases })
}

/// The keys of the grades that match a search, from `from` downward.
pub(crate) fn matching<'c>(
    connection: &'c mut Connection,
    expression: &Expression,
    from: i64,
) -> BoxStream<'c, Result<i64, sqlx::Error>> {
    let walk = Walk {
        connection,
        query: expression.query.clone(),
        from: Some(from),
        rows: WINDOW_ROWS.0,
        limit: RARE_KEYS.0,
        looked_at: 0,
        matched: 0,
    };
    let parts = stream::try_unfold(walk, |mut walk| async move {
        let part = walk.next().await?;
        Ok::<_, sqlx::Error>(part.map(|keys| (stream::iter(keys.into_iter().map(Ok)), walk)))
    });
    parts.try_flatten().boxed()
}

/// The matches of a search, the newest first: those of windows of grades while it is frequent, and
/// then those that the index of words finds. Either takes a bounded time, without knowing how
/// frequent the words are.
struct Walk<'c> {
    connection: &'c mut Connection,
    query: String,
    /// The largest key of the rest; `None` at the end.
    from: Option<i64>,
    /// Grades of the next window.
    rows: i64,
    /// Matches to read at once, if they are rare.
    limit: i64,
    /// Grades in the windows so far, and how many of them matched.
    looked_at: i64,
    matched: i64,
}

impl Walk<'_> {
    /// The next keys, which may be none; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<i64>>, sqlx::Error> {
        let Some(from) = self.from else {
            return Ok(None);
        };
        let keys = if self.matched * RARE_SHARE < self.looked_at {
            self.rare(from).await?
        } else {
            self.in_window(from).await?
        };
        Ok(Some(keys))
    }

    async fn rare(&mut self, from: i64) -> Result<Vec<i64>, sqlx::Error> {
        let keys: Vec<i64> = sql::query_scalar(RARE)
            .bind(self.query.as_str())
            .bind(from)
            .bind(self.limit)
            .fetch_all(self.connection)
            .await?;
        let is_last = (keys.len() as i64) < self.limit;
        self.from = keys.last().map(|last| last - 1).filter(|_| !is_last);
        self.limit = (self.limit * 4).min(RARE_KEYS.1);
        Ok(keys)
    }

    async fn in_window(&mut self, from: i64) -> Result<Vec<i64>, sqlx::Error> {
        let end: Option<i64> = sql::query_scalar(WINDOW)
            .bind(from)
            .bind(self.rows)
            .fetch_optional(self.connection)
            .await?;
        let keys: Vec<i64> = sql::query_scalar(IN_WINDOW)
            .bind(self.query.as_str())
            .bind(end.unwrap_or(i64::MIN))
            .bind(from)
            .fetch_all(self.connection)
            .await?;
        self.from = end;
        self.looked_at += self.rows;
        self.matched += keys.len() as i64;
        self.rows = (self.rows * 4).min(WINDOW_ROWS.1);
        Ok(keys)
    }
}

/// Bytes of the tables and their indexes.
pub(crate) async fn bytes(connection: &mut Connection) -> Result<u64, DatabaseError> {
    let bytes = sql::query_scalar(
        "select pg_total_relation_size('texts') + pg_total_relation_size('indexed')",
    )
    .fetch_one(connection)
    .await?;
    Ok(count(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_must_occur_and_phrases_are_compared_later() {
        for (search, expected, phrases) in [
            ("Right -wrong", "'right' & !'wrong'", 0),
            ("appl* -oran*", "'appl':* & !'oran':*", 0),
            ("\"a b\" x-ray*", "'a' & 'b' & 'x' & 'ray':*", 2),
            ("it's -\"a b\"", "'it' & 's'", 2),
        ] {
            let query: TextQuery = search.parse().unwrap();
            let found = expression(&query).unwrap();
            assert_eq!((&*found.query, found.phrases.len()), (expected, phrases));
        }
        // A letter of SQL that is none of the index.
        assert!(expression(&"ⓐ".parse().unwrap()).is_none());
    }
}
