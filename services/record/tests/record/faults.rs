//! Failures are reported, and no acknowledged entry is lost.

use std::sync::Arc;
use std::time::Duration;

use assay_record::{GradeFilter, OpenError, OpenSpoolError, Record, RecordError, RecordOptions};

use crate::fixture::{Fixture, all, batch, change, contains_entry, entry, part, record};

#[tokio::test]
async fn a_spool_is_used_by_one_store_at_a_time() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let rejected = fixture.try_open().await.err().unwrap();
    assert!(matches!(
        rejected,
        OpenError::Spool(OpenSpoolError::InUse { .. })
    ));
    assert!(rejected.to_string().contains("is used by another node"));
    store.close().await.unwrap();
    drop(fixture.open().await);
    drop(fixture.open().await);
}

#[tokio::test]
async fn unsupported_urls_are_reported_without_their_password() {
    let mut fixture = Fixture::new();
    fixture.options.spool = Some(fixture.spool());
    for (url, shown) in [
        (
            "mysql://me:secret@host/db",
            "unsupported database URL `mysql://me:***@host/db`",
        ),
        (
            "postgres://me:secret@127.0.0.1:9/db",
            "cannot open the database `postgres://me:***@127.0.0.1:9/db`",
        ),
    ] {
        fixture.options.database = url.to_owned();
        let rejected = fixture.try_open().await.err().unwrap().to_string();
        assert!(rejected.contains(shown), "{rejected}");
        assert!(!rejected.contains("secret"), "{rejected}");
    }
}

#[tokio::test]
async fn rejects_entries_while_the_spool_cannot_be_written() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let before = entry(1, 2);
    record(&store, before.clone()).await;

    let moved = fixture.spool().with_extension("away");
    std::fs::rename(fixture.spool(), &moved).unwrap();
    std::fs::write(fixture.spool(), b"not a folder").unwrap();
    for _ in 0..3 {
        let rejected = store.append(Arc::new(entry(2, 2))).await;
        assert!(matches!(rejected, Err(RecordError::Unavailable(_))));
    }
    assert_eq!(
        store.grade(batch(2).grade(0)).await.unwrap(),
        None,
        "rejected entries are not read"
    );

    std::fs::remove_file(fixture.spool()).unwrap();
    let after = entry(3, 2);
    record(&store, after.clone()).await;
    assert!(contains_entry(&store, &before).await && contains_entry(&store, &after).await);
    assert!(
        fixture.try_open().await.is_err(),
        "the new folder is locked as well"
    );
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 4);
}

#[tokio::test]
async fn does_not_write_to_the_spool_of_another_database() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 2)).await;
    std::fs::remove_dir_all(fixture.spool()).unwrap();
    std::fs::create_dir(fixture.spool()).unwrap();
    std::fs::write(fixture.spool().join("identity"), b"another").unwrap();
    for _ in 0..3 {
        assert!(store.append(Arc::new(entry(2, 2))).await.is_err());
    }
    assert!(fixture.segments().is_empty());
    std::fs::remove_file(fixture.spool().join("identity")).unwrap();
    record(&store, entry(3, 2)).await;
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 4);
}

#[tokio::test]
async fn a_closed_store_rejects_entries_and_can_be_closed_again() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    store.close().await.unwrap();
    store.close().await.unwrap();
    let rejected = store.append(Arc::new(entry(1, 1))).await.unwrap_err();
    assert!(rejected.to_string().contains("closed"));
}

#[tokio::test]
async fn closing_times_out_on_a_locked_database_and_loses_nothing() {
    let mut fixture = Fixture::new();
    fixture.options.close_timeout = Duration::ZERO;
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    let entry = entry(1, 2);
    record(&store, entry.clone()).await;
    let rejected = store.close().await.unwrap_err();
    assert!(rejected.to_string().contains("applied at the next start"));
    drop((store, lock));

    let store = fixture.open().await;
    assert!(contains_entry(&store, &entry).await);
}

#[tokio::test]
async fn rejects_inconsistent_entries() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut other_run = entry(1, 2);
    change(&mut other_run.grades[1], |source, _| {
        source.run = Some("other".into());
    });
    let mut other_id = entry(1, 2);
    change(&mut other_id.grades[1], |_, grade| {
        grade.grade = batch(2).grade(1);
    });
    let mut twice = entry(1, 2);
    twice.grades.push(twice.grades[0].clone());
    for entry in [other_run, other_id, twice] {
        let rejected = store.append(Arc::new(entry)).await;
        assert!(matches!(rejected, Err(RecordError::Inconsistent(_))));
    }
    let backwards = {
        let mut entry = part(1, 0, 3);
        entry.grades.reverse();
        entry
    };
    record(&store, backwards).await;
    assert_eq!(all(&store, &GradeFilter::default(), 10).await.len(), 3);
    store.close().await.unwrap();
}

#[tokio::test]
async fn rejects_unsupported_database_urls() {
    let fixture = Fixture::new();
    let options = RecordOptions::new("mysql://somewhere");
    let rejected = Record::open(&options, fixture.clock.clone())
        .await
        .err()
        .unwrap();
    assert!(rejected.to_string().contains("`sqlite://PATH`"));
}

#[tokio::test]
async fn grades_cannot_be_changed_or_deleted_outside_of_retention() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 2)).await;
    store.close().await.unwrap();
    for sql in ["update grades set score = 1", "delete from grades"] {
        let rejected = fixture.execute(sql).await.unwrap_err();
        assert!(rejected.to_string().contains("grades are append-only"));
    }
    fixture
        .execute("insert into retention values (1); delete from grades; delete from retention")
        .await
        .unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 0);
}
