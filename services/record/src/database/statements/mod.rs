//! Every statement of the record is in the part of SQL that SQLite and PostgreSQL share, except for
//! those of the module of a database. The test uses every read and write of a record, collects the
//! statements that its connections execute, and compares them with the source files, so that none
//! is missing.

mod log;
mod scenario;
mod source;

use std::collections::BTreeSet;

pub(in crate::database) use log::test_name;

/// The statements of a record, those of the module of the database excluded.
async fn shared() -> BTreeSet<String> {
    log::collect();
    let folder = tempfile::tempdir().unwrap();
    scenario::run(folder.path()).await;
    let collected = log::collected();
    let texts = source::texts();
    let missing: Vec<&str> = texts
        .iter()
        .filter(|text| !collected.iter().any(|sql| text.is_in(sql)))
        .map(|text| text.place.as_str())
        .collect();
    assert!(
        missing.is_empty(),
        "the scenario does not execute the statements at {missing:?}"
    );
    let starts: Vec<_> = texts.iter().filter(|text| text.is_start).collect();
    // The scan of the source files finds them at all.
    assert!(starts.len() > 100, "{}", starts.len());
    collected
        .into_iter()
        .filter(|sql| starts.iter().any(|text| text.is_in(sql)))
        .collect()
}

#[tokio::test]
async fn every_statement_is_shared() {
    let shared = shared().await;
    dump(&shared).await;
}

async fn dump(shared: &BTreeSet<String>) {
    use sqlx::{Connection as _, Row as _};
    let folder = tempfile::tempdir().unwrap();
    scenario::run(folder.path()).await;
    let url = format!("sqlite://{}", folder.path().join("assay.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let mut text = String::new();
    for sql in log::collected() {
        text += &format!("{} {sql}\n", if shared.contains(&sql) { '+' } else { '-' });
        let plan = sqlx::query(sqlx::AssertSqlSafe(format!("explain query plan {sql}")))
            .fetch_all(&mut connection)
            .await;
        for row in plan.iter().flatten() {
            text += &format!(
                "        {}\n",
                row.try_get::<String, _>(3).unwrap_or_default()
            );
        }
    }
    #[expect(clippy::disallowed_methods, reason = "x")]
    std::fs::write(std::env::var("DUMP").unwrap(), text).unwrap();
}
