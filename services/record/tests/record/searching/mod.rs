//! Searches for texts, also after crashes and deletions.

mod completion;
mod model;
mod patterns;
mod words;

use std::collections::BTreeMap;

use assay_core::Hash;
use assay_record::chart::Topic;
use assay_record::{Body, BodyKind, Entry, GradeFilter, KindCounts, Record};

use crate::fixture::{Fixture, TestConnection, all, change, part};

pub(crate) fn searching() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.options.text_search = true;
    fixture
}

pub(crate) fn text(search: &str) -> GradeFilter {
    GradeFilter {
        text: Some(search.parse().unwrap()),
        ..GradeFilter::default()
    }
}

/// The number of grades by kind.
pub(crate) fn counted(counts: &KindCounts) -> u64 {
    let kinds = counts.counted.values_of(Topic::Kind);
    kinds.map(|(_, grades)| grades).sum()
}

/// An entry of the `n`th batch with these completions and prompts from position `first`.
pub(crate) fn texts(n: u64, first: u32, grades: &[(&str, Option<&str>)]) -> Entry {
    let mut entry = part(n, first, grades.len() as u32);
    entry.bodies.clear();
    let mut bodies: BTreeMap<Hash, Body> = BTreeMap::new();
    let mut body = |kind: BodyKind, content: String| {
        let content = content.into_bytes();
        let hash = kind.hash(&content);
        bodies.insert(
            hash,
            Body {
                hash,
                kind,
                content,
            },
        );
        hash
    };
    for (grade, (completion, prompt)) in entry.grades.iter_mut().zip(grades) {
        change(grade, |source, _| {
            source.completion_hash = body(BodyKind::Text, (*completion).to_owned());
            source.prompt_hash = prompt.map(|prompt| {
                let messages = serde_json::json!([{ "role": "user", "content": prompt }]);
                body(BodyKind::Messages, messages.to_string())
            });
        });
    }
    entry.bodies = bodies.into_values().collect();
    entry
}

/// The batches and positions of the grades that a search finds, in its order.
pub(crate) async fn found(store: &Record, filter: &GradeFilter) -> Vec<(u64, u32)> {
    let grades = all(store, filter, 3).await;
    let place = |grade: &assay_record::StoredGrade| {
        let batch = u128::from(grade.source.batch) >> 24 & 0xff_ffff;
        (batch as u64 - 1, grade.grade.position)
    };
    grades.iter().map(place).collect()
}

/// Runs statements on the index.
pub(crate) async fn execute_on_index(fixture: &Fixture, sql: &'static str) {
    index(fixture).await.execute(sql).await.unwrap();
}

/// The number of grades in the index.
pub(crate) async fn indexed(fixture: &Fixture) -> i64 {
    let mut index = index(fixture).await;
    let count = match index {
        TestConnection::Sqlite(_) => "select count(*) from texts_docsize",
        TestConnection::Postgres(_) => "select count(*) from texts",
    };
    index.number(count).await
}

/// A connection to the index, which is a file beside a database on SQLite.
async fn index(fixture: &Fixture) -> TestConnection {
    let file = format!("sqlite://{}.texts", fixture.database().display());
    let database = &fixture.options.database;
    let is_postgres = database.starts_with("postgres");
    let url = if is_postgres { database } else { &file };
    TestConnection::connect(url).await.unwrap()
}
