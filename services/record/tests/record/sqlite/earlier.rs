//! A record of an earlier release, whose grades have columns instead of documents: its database,
//! and a spool with a batch that is not in the database.

use assay_record::{GradeFilter, verify};
use serde_json::Value;
use sqlx::{Connection, SqliteConnection};

use crate::batches::of_run;
use crate::fixture::{Fixture, all, record};

/// The database, as SQL.
const DATABASE: &str = include_str!("earlier/database.sql");

/// The reply of that release to `GET /v1/grades`, one grade per line, newest first.
const GRADES: &str = include_str!("earlier/grades.jsonl");

/// The files of the spool.
const SPOOL: [(&str, &[u8]); 3] = [
    ("identity", include_bytes!("earlier/spool/identity")),
    ("00000002.seg", include_bytes!("earlier/spool/00000002.seg")),
    ("00000002.end", include_bytes!("earlier/spool/00000002.end")),
];

async fn earlier() -> Fixture {
    let fixture = Fixture::new();
    let url = format!("sqlite://{}?mode=rwc", fixture.database().display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(DATABASE)
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    std::fs::create_dir(fixture.spool()).unwrap();
    for (name, content) in SPOOL {
        std::fs::write(fixture.spool().join(name), content).unwrap();
    }
    fixture
}

#[tokio::test]
async fn grades_of_an_earlier_release_are_read_as_it_showed_them() {
    let fixture = earlier().await;
    let store = fixture.open().await;
    let filter = GradeFilter {
        until_us: Some(i64::MAX),
        ..GradeFilter::default()
    };
    let read = all(&store, &filter, 3).await;
    let shown: Vec<Value> = GRADES
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((shown.len(), read.len()), (5, 9));
    for shown in &shown {
        let stored = read
            .iter()
            .find(|stored| shown["grade"] == stored.grade.grade.to_string())
            .unwrap();
        let now = serde_json::to_value(stored).unwrap();
        for (name, then) in shown.as_object().unwrap() {
            if name == "appeal" && !then.is_null() {
                for (name, then) in then.as_object().unwrap() {
                    assert_eq!(&now["appeal"][name], then, "`{name}` of {shown}");
                }
            } else if name == "components" {
                let mut now = now["components"].clone();
                // A key of later releases.
                for component in now.as_array_mut().unwrap() {
                    component.as_object_mut().unwrap().remove("evidence");
                }
                assert_eq!(&now, then, "components of {shown}");
            } else {
                assert_eq!(&now[name], then, "`{name}` of {shown}");
            }
        }
    }
    // A number with more digits than a float has.
    let long = shown.iter().find(|shown| shown["id"] == "1-b").unwrap();
    assert_eq!(long["meta"]["tokens"], 9_007_199_254_740_993_i64);
    // Costs of the grades in the database and in the spool.
    assert_eq!(fixture.number("select sum(grades) from costs").await, 9);
    assert_eq!(fixture.number("select count(*) from slow_grades").await, 9);
    store.close().await.unwrap();
}

#[tokio::test]
async fn the_spool_of_an_earlier_release_is_applied() {
    let fixture = earlier().await;
    let store = fixture.open().await;
    let filter = GradeFilter {
        step: Some(3),
        ..GradeFilter::default()
    };
    let grades = all(&store, &filter, 10).await;
    let found: Vec<_> = grades
        .iter()
        .map(|stored| {
            let grade = &stored.grade;
            (
                grade.id.as_deref().unwrap(),
                grade.verdict.as_deref(),
                grade.appeal.is_some(),
                stored.source.redacted,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("3-d", None, false, false),
            ("3-c", Some("wrong_answer"), true, false),
            ("3-b", Some("wrong_answer"), true, false),
            ("3-a", Some("correct"), false, true),
        ]
    );
    let first = &grades[3];
    assert_eq!(
        first.source.meta.as_ref().unwrap().get(),
        r#"{"tokens":12,"note":"open [secret]"}"#
    );
    assert!(first.grade.reward_breakdown.is_some());
    let whole = store.grade(first.grade.grade).await.unwrap().unwrap();
    assert!(whole.source.checks.is_some());
    assert_eq!(first.grade.components[0].name, "format");
    for hash in [first.source.task_hash, first.source.completion_hash] {
        assert!(store.body(hash).await.unwrap().is_some());
    }
    record(&store, of_run(1, "run", 8)).await;
    store.close().await.unwrap();
    let verified = verify(&fixture.options, |_| {}).await.unwrap();
    assert_eq!(verified.damages, []);
    assert_eq!((verified.grades, verified.without_checksum), (17, 0));
    let columns = "select count(*) from grades where document is null";
    assert_eq!(fixture.number(columns).await, 5);
}
