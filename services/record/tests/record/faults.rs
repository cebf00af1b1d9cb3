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
    fixture.options.database = "postgres://me:secret@host/db".to_owned();
    let rejected = fixture.try_open().await.err().unwrap().to_string();
    assert!(
        rejected.contains("unsupported database URL `postgres://me:***@host/db`"),
        "{rejected}"
    );
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
async fn a_link_to_the_database_uses_the_same_lock() {
    for exists in [true, false] {
        let fixture = Fixture::new();
        if exists {
            fixture.open().await.close().await.unwrap();
        }
        std::fs::create_dir(fixture.root().join("links")).unwrap();
        let link = fixture.root().join("links/link.db");
        std::os::unix::fs::symlink("../assay.db", &link).unwrap();
        let options = RecordOptions::new(format!("sqlite://{}", link.display()));
        let store = Record::open(&options, fixture.clock.clone()).await.unwrap();
        let rejected = fixture.try_open().await.err().unwrap();
        assert!(matches!(
            rejected,
            OpenError::Spool(OpenSpoolError::InUse { .. })
        ));
        record(&store, entry(1, 2)).await;
        store.close().await.unwrap();

        let store = fixture.open().await;
        assert!(contains_entry(&store, &entry(1, 2)).await);
        let rejected = Record::open(&options, fixture.clock.clone())
            .await
            .err()
            .unwrap();
        assert!(matches!(
            rejected,
            OpenError::Spool(OpenSpoolError::InUse { .. })
        ));
    }
}

#[tokio::test]
async fn recreates_a_deleted_database_from_the_spool() {
    // One segment per commit, and one for all.
    for segment_bytes in [1, 64 << 20] {
        for closes in [true, false] {
            let mut fixture = Fixture::new();
            fixture.options.segment_bytes = segment_bytes;
            let store = fixture.open().await;
            record(&store, entry(1, 2)).await;
            fixture.applied(&store).await;
            store.ready().await.unwrap();

            for file in ["assay.db", "assay.db-wal", "assay.db-shm"] {
                std::fs::remove_file(fixture.root().join(file)).unwrap();
            }
            let after: Vec<_> = (2..6).map(|n| entry(n, 2)).collect();
            for entry in &after {
                record(&store, entry.clone()).await;
            }
            fixture.apply_fails(&store).await;
            assert_eq!(
                store.state().pending,
                after.len() as u64,
                "nothing counts as applied"
            );
            let rejected = store.ready().await.unwrap_err();
            assert!(rejected.to_string().contains("was removed"));
            if closes {
                let rejected = store.close().await.unwrap_err();
                assert!(rejected.to_string().contains("restart the node"));
            }
            drop(store);

            let store = fixture.open().await;
            store.ready().await.unwrap();
            for entry in &after {
                assert!(contains_entry(&store, entry).await);
            }
            store.close().await.unwrap();
            assert!(fixture.number("select count(*) from grades").await >= 8);
            assert!(fixture.segments().is_empty());
        }
    }
}

#[tokio::test]
async fn applies_pending_entries_once_the_database_is_moved_back() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 2)).await;
    fixture.applied(&store).await;
    let moved = fixture.root().join("away");
    std::fs::rename(fixture.database(), &moved).unwrap();
    std::fs::write(fixture.database(), b"").unwrap();
    record(&store, entry(2, 2)).await;
    fixture.apply_fails(&store).await;
    assert_eq!(store.state().pending, 1);
    assert!(
        store
            .ready()
            .await
            .unwrap_err()
            .to_string()
            .contains("replaced by another")
    );

    std::fs::rename(&moved, fixture.database()).unwrap();
    fixture.applied(&store).await;
    store.ready().await.unwrap();
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 4);
}

#[tokio::test]
async fn entries_acknowledged_after_the_folder_was_deleted_survive() {
    for closes in [true, false] {
        let fixture = Fixture::new();
        let store = fixture.open().await;
        record(&store, entry(1, 2)).await;
        fixture.applied(&store).await;

        std::fs::remove_dir_all(fixture.root()).unwrap();
        let mut acknowledged = Vec::new();
        for n in 2..6 {
            if store.append(Arc::new(entry(n, 2))).await.is_ok() {
                acknowledged.push(n);
            }
        }
        assert_eq!(
            acknowledged,
            [3, 4, 5],
            "the first fails because its segment is gone, the others go to a new folder"
        );
        assert!(store.ready().await.is_err());
        let rejected = fixture.try_open().await.err().unwrap();
        assert!(
            matches!(rejected, OpenError::Spool(OpenSpoolError::InUse { .. })),
            "the new folder is locked"
        );
        if closes {
            store.close().await.unwrap_err();
        }
        drop(store);

        let store = fixture.open().await;
        for n in acknowledged {
            assert!(contains_entry(&store, &entry(n, 2)).await);
        }
        store.close().await.unwrap();
        assert_eq!(fixture.number("select count(*) from grades").await, 6);
    }
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

/// Overwrites every page of the database from the third on.
fn damage_pages(fixture: &Fixture) {
    let mut bytes = std::fs::read(fixture.database()).unwrap();
    bytes[8_192..].fill(0x5a);
    let file = std::fs::File::options()
        .write(true)
        .open(fixture.database())
        .unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
}

/// A record that was closed and opened again, whose database is then damaged.
async fn damaged() -> (Fixture, Record) {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(0, 20)).await;
    store.close().await.unwrap();
    let store = fixture.open().await;
    store.ready().await.unwrap();
    damage_pages(&fixture);
    (fixture, store)
}

#[tokio::test]
async fn a_failed_transaction_on_a_damaged_database_ends_readiness() {
    let (fixture, store) = damaged().await;
    record(&store, entry(1, 2)).await;
    fixture.apply_fails(&store).await;
    let error = store.ready().await.unwrap_err();
    assert!(matches!(error, RecordError::Damaged(_)), "{error}");
    assert!(error.to_string().contains("restore"), "{error}");
    record(&store, entry(2, 2)).await;
    assert_eq!(store.state().pending, 2, "grades are still recorded");
}

#[tokio::test]
async fn a_failed_read_of_a_damaged_database_ends_readiness() {
    let (fixture, store) = damaged().await;
    // A statement of another process makes the store read the pages again.
    let _ = fixture.execute("create table other (a)").await;
    let read = store.run_series("run-a").await;
    assert!(matches!(read, Err(RecordError::Damaged(_))), "{read:?}");
    for _ in 0..2 {
        let error = store.ready().await.unwrap_err();
        assert!(matches!(error, RecordError::Damaged(_)), "{error}");
    }
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
