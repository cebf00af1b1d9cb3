//! The file of the index of texts: an FTS5 table with the texts of each grade under its key, and a
//! table of the batches that are in it.
//!
//! The table is contentless: it has the places of words but not the texts, which the record stores
//! compressed. A deleted row is noted in its segment of the index, and its words are removed when
//! segments are merged.

use std::fs;
use std::path::Path;

use futures::stream::BoxStream;

use super::connect::{Location, connect_one};
use super::{codes, pages};
use crate::database::DatabaseError;
use crate::database::indexed::{Expression, GradeTexts};
use crate::database::insert::Insert;
use crate::database::sql::{self, Connection, Pool};
use crate::retention_step::StepOutcome;
use crate::text_query::{MAX_PREFIX_WORDS, TextQuery, TextTerm};
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqlitePool;

/// The number of the schema and of how texts are extracted. A file with another one is built again.
const FORMAT: i64 = 1;

/// The statements that create the tables, and the bytes of words that are collected in memory
/// before a segment is written.
const CREATE: [&str; 4] = [
    "create virtual table texts using fts5(completion, prompt, content='', contentless_delete=1, \
     tokenize='unicode61 remove_diacritics 2')",
    "create virtual table words using fts5vocab(texts, 'instance')",
    "create table indexed (batch integer primary key, id blob not null, grades integer) strict",
    "insert into texts (texts, rank) values ('hashsize', 8388608)",
];

/// Inserts rows, also those that an interrupted transaction of the record left under the same keys.
const INSERT: Insert = Insert {
    prefix: "insert or replace into texts (rowid, completion, prompt)",
    columns: 3,
    suffix: "",
};

/// The keys in a range.
pub(crate) const KEYS: &str = "select id from texts_docsize where id between $1 and $2 limit $3";

/// Deletes a grade by its key.
pub(crate) const DELETE: &str = "delete from texts where rowid = $1";

/// Opens the index beside a database, with the connection that writes. A missing one is created;
/// one that is damaged or has another format is replaced by an empty one.
pub(crate) async fn open(location: &Location) -> Result<SqlitePool, sqlx::Error> {
    match open_current(location).await {
        Ok(Some(writer)) => Ok(writer),
        Ok(None) => rebuilt(location, "it has another format").await,
        Err(error) if codes::is_damage(&error) => rebuilt(location, &error.to_string()).await,
        Err(error) => Err(error),
    }
}

/// Connects to the index and creates its tables if it is empty; `None` if it has another format.
async fn open_current(location: &Location) -> Result<Option<SqlitePool>, sqlx::Error> {
    let one = connect_one(location).await?;
    let writer = Pool::Sqlite(one.clone());
    let format: i64 = sql::query_scalar("pragma user_version")
        .fetch_one(&mut writer.acquire().await?)
        .await?;
    match format {
        FORMAT => Ok(Some(one)),
        0 => {
            let mut creation = writer.begin().await?;
            for statement in CREATE {
                sql::query(statement).execute(&mut creation).await?;
            }
            let format = format!("pragma user_version = {FORMAT}");
            sql::query(AssertSqlSafe(format))
                .execute(&mut creation)
                .await?;
            creation.commit().await?;
            Ok(Some(one))
        }
        _ => {
            writer.close().await;
            Ok(None)
        }
    }
}

/// Removes the file of an index that cannot be used, and creates an empty one.
async fn rebuilt(location: &Location, reason: &str) -> Result<SqlitePool, sqlx::Error> {
    tracing::warn!(reason, "the index of texts is built again");
    for suffix in ["", "-wal", "-shm"] {
        let Some(path) = &location.path else { continue };
        let mut path = path.clone().into_os_string();
        path.push(suffix);
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let current = open_current(location).await?;
    current.ok_or_else(|| sqlx::Error::Configuration("a new index has another format".into()))
}

/// Bytes of the file and of its log.
pub(crate) async fn bytes(
    connection: &mut Connection,
    path: Option<&Path>,
) -> Result<u64, DatabaseError> {
    let size = pages::size(connection).await?;
    let log_bytes = path.map_or(0, |path| {
        let mut log = path.to_owned().into_os_string();
        log.push("-wal");
        fs::metadata(log).map_or(0, |log| log.len())
    });
    Ok(size.file_bytes + log_bytes)
}

/// Merges some segments in which rows were deleted; `done` if there is nothing to merge.
pub(crate) async fn merge(
    connection: &mut Connection,
    pages: u32,
) -> Result<StepOutcome, DatabaseError> {
    let before = changes(connection).await?;
    sql::query("insert into texts (texts, rank) values ('merge', $1)")
        .bind(pages)
        .execute(connection)
        .await?;
    // The command itself counts as one change.
    Ok(if changes(connection).await? - before < 2 {
        StepOutcome::DONE
    } else {
        StepOutcome::MORE
    })
}

async fn changes(connection: &mut Connection) -> Result<i64, DatabaseError> {
    Ok(sql::query_scalar("select total_changes()")
        .fetch_one(connection)
        .await?)
}

/// Inserts the texts of grades.
pub(crate) async fn insert(
    connection: &mut Connection,
    grades: &[GradeTexts],
) -> Result<(), DatabaseError> {
    INSERT
        .run(connection, grades, |values, grade| {
            values
                .add(grade.key)
                .add(&grade.completion)
                .add(&grade.prompt);
        })
        .await?;
    Ok(())
}

/// Joins expressions that must all match; a word of FTS5, not of SQL.
const AND: &str = "AND";

/// Composes the expression of a search in the syntax of FTS5. All that a caller wrote is in quotes,
/// in which no character but a quote has a meaning. `None` if no grade matches, because no word of
/// the index has a prefix that must occur.
///
/// Prefixes are replaced by the words that have them: FTS5 would first collect the places of all
/// these words in memory, also for a page.
pub(crate) async fn expression(
    connection: &mut Connection,
    query: &TextQuery,
) -> Result<Option<Expression>, DatabaseError> {
    let mut required = Vec::new();
    for term in query.required() {
        let texts = texts_of(connection, term).await?;
        if texts.is_empty() {
            return Ok(None);
        }
        required.push(any_of(&texts));
    }
    let mut expression = format!("({})", required.join(AND));
    for term in query.excluded() {
        let texts = texts_of(connection, term).await?;
        if !texts.is_empty() {
            expression.push_str(" NOT ");
            expression.push_str(&any_of(&texts));
        }
    }
    Ok(Some(Expression::exact(expression)))
}

/// The texts for which a term stands: one, or any number for a prefix.
async fn texts_of(
    connection: &mut Connection,
    term: &TextTerm,
) -> Result<Vec<String>, DatabaseError> {
    if !term.is_prefix {
        return Ok(vec![term.text.clone()]);
    }
    let before = term.text.trim_end_matches(char::is_alphanumeric);
    let prefix = term.text[before.len()..].to_ascii_lowercase();
    let mut texts = Vec::new();
    let mut from = prefix.clone();
    loop {
        // Finds the word by its place in the index, whatever the number of its grades.
        let word: Option<String> =
            sql::query_scalar("select term from words where term >= $1 limit 1")
                .bind(&from)
                .fetch_optional(connection)
                .await
                .map_err(DatabaseError::TextIndex)?;
        let Some(word) = word.filter(|word| word.starts_with(&prefix)) else {
            return Ok(texts);
        };
        if texts.len() == MAX_PREFIX_WORDS {
            return Err(DatabaseError::LongSearch(term.text.clone()));
        }
        texts.push(format!("{before}{word}"));
        // Less than every longer word, because no word has this character.
        from = word + "\u{1}";
    }
}

/// An expression for any of several texts.
fn any_of(texts: &[String]) -> String {
    // A null character would end the expression.
    let escaped = texts
        .iter()
        .map(|text| text.replace('"', "\"\"").replace('\0', " "));
    let escaped: Vec<String> = escaped.collect();
    format!("(\"{}\")", escaped.join("\" OR \""))
}

/// The keys of the grades that match a search, from `from` downward.
pub(crate) fn matching<'c>(
    connection: &'c mut Connection,
    expression: &Expression,
    from: i64,
) -> BoxStream<'c, Result<i64, sqlx::Error>> {
    sql::query_scalar(
        "select rowid from texts where texts match $1 and rowid <= $2 order by rowid desc",
    )
    .bind(expression.query.clone())
    .bind(from)
    .fetch(connection)
}
