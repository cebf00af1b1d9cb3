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

/// The grades that match, the newest first.
const MATCHING: &str = "select key from texts \
     where words @@ cast($1 as tsquery) and key <= $2 order by key desc limit $3";

/// Matches that are read at once: the first time, which usually fills a page, and at most.
const MATCHES: (u32, u32) = (256, 8_192);

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
///
/// They are read in parts that grow: with a limit, the server reads a frequent word in the order of
/// the keys, and stops after some rows.
pub(crate) fn matching<'c>(
    connection: &'c mut Connection,
    expression: &Expression,
    from: i64,
) -> BoxStream<'c, Result<i64, sqlx::Error>> {
    let query = expression.query.clone();
    let (first, most) = MATCHES;
    let parts = stream::try_unfold(
        (connection, Some(from), first),
        move |(connection, from, limit)| {
            let query = query.clone();
            async move {
                let Some(from) = from else {
                    return Ok::<_, sqlx::Error>(None);
                };
                let keys: Vec<i64> = sql::query_scalar(MATCHING)
                    .bind(query)
                    .bind(from)
                    .bind(limit)
                    .fetch_all(connection)
                    .await?;
                let is_last = keys.len() < limit as usize;
                let next = keys.last().map(|last| last - 1).filter(|_| !is_last);
                let keys = stream::iter(keys.into_iter().map(Ok));
                Ok(Some((keys, (connection, next, (limit * 4).min(most)))))
            }
        },
    );
    parts.try_flatten().boxed()
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
