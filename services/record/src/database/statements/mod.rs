//! Every statement of the record is in the part of SQL that SQLite and PostgreSQL share, except for
//! those of the module of a database.
//!
//! The test uses every read and write of a record, collects the statements that its connections
//! execute, and compares them with the source files, so that none is missing. It prepares all of
//! them on PostgreSQL.

mod ids;
mod jobs;
mod log;
mod postgres;
mod scenario;
mod source;

use std::collections::BTreeSet;

use sqlx::{Connection, SqliteConnection};

use self::source::Text;

/// The statements that only SQLite has, by their starts. PostgreSQL has others for the same
/// purpose, or needs none.
const ONLY_SQLITE: [&str; 20] = [
    "begin immediate",
    "create table indexed ",
    "CREATE TRIGGER ",
    "create virtual table texts ",
    "create virtual table words ",
    "delete from texts ",
    "drop trigger ",
    "insert into texts ",
    "insert or replace into texts ",
    "pragma ",
    "select exists (select 1 from pragma_table_info(",
    "select exists (select 1 from sqlite_schema",
    "select id from texts_docsize ",
    "select name, sql from sqlite_schema ",
    "select not exists (select 1 from sqlite_schema",
    "select rowid from texts ",
    "select t.name as table_name, ",
    "select term from words ",
    "select total_changes()",
    "vacuum into ",
];

/// The statements that the driver executes by itself, and those of transactions.
fn is_of_driver(sql: &str) -> bool {
    sql.starts_with("PRAGMA ")
        || sql.contains("_sqlx_migrations") && !sql.starts_with("select version ")
        || ["begin", "commit", "rollback"].contains(&sql)
}

#[tokio::test]
async fn every_statement_is_shared() {
    log::collect();
    let folder = tempfile::tempdir().unwrap();
    scenario::run(folder.path()).await;
    // A migration starts with a comment.
    let collected: BTreeSet<String> = log::collected()
        .into_iter()
        .filter(|sql| !is_of_driver(sql) && !sql.starts_with("--"))
        .collect();
    let texts = source::texts();

    let assert_places = |problem: &str, is_wrong: &dyn Fn(&Text) -> bool| {
        let wrong = texts.iter().filter(|text| is_wrong(text));
        let places: Vec<&str> = wrong.map(|text| text.place.as_str()).collect();
        assert!(places.is_empty(), "{problem}: {places:?}");
    };
    assert_places("the test does not execute the statement", &|text| {
        !collected.iter().any(|sql| text.is_in(sql))
    });
    assert_places(
        "write the statement without a gap after its first word",
        &Text::is_vague,
    );
    assert_places("add the statement to `ONLY_SQLITE`, or move it", &|text| {
        let listed = || ONLY_SQLITE.iter().any(|start| text.starts_with(start));
        text.of_database && text.is_start && !listed()
    });

    let (shared, others): (BTreeSet<_>, BTreeSet<_>) = collected.into_iter().partition(|sql| {
        let mut shared = texts
            .iter()
            .filter(|text| text.is_start && !text.of_database);
        shared.any(|text| text.is_in(sql))
    });
    let unknown: Vec<&String> = others
        .iter()
        .filter(|sql| !ONLY_SQLITE.iter().any(|start| sql.starts_with(start)))
        .collect();
    assert!(
        unknown.is_empty(),
        "neither in the source files nor in `ONLY_SQLITE`: {unknown:?}"
    );
    let unused: Vec<&&str> = ONLY_SQLITE
        .iter()
        .filter(|start| !others.iter().any(|sql| sql.starts_with(**start)))
        .collect();
    assert!(unused.is_empty(), "not executed: {unused:?}");
    assert!(shared.len() > 150, "{}", shared.len());

    assert_places("write parameters as `$1`", &|text| text.contains('?'));

    let url = format!("sqlite://{}", folder.path().join("assay.db").display());
    let mut sqlite = SqliteConnection::connect(&url).await.unwrap();
    let rejected = postgres::rejected(&shared, &mut sqlite).await;
    assert!(rejected.is_empty(), "{}", rejected.join("\n\n"));
}
