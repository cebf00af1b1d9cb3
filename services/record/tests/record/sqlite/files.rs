//! A damaged, replaced or removed database file.

use std::sync::Arc;

use assay_record::storage::{PruneFilter, PruneState};
use assay_record::{OpenError, OpenSpoolError, Record, RecordError, RecordOptions};

use crate::batches::{of_run, prune};
use crate::fixture::{Fixture, contains_entry, entry, record};
use crate::retention::assert_sound;

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
async fn the_file_becomes_smaller_and_the_log_is_emptied() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(0, "kept", 8)).await;
    for n in 1..40 {
        record(&store, of_run(n, &format!("run {n}"), 256)).await;
    }
    fixture.applied(&store).await;
    let before = store.storage(10).await.unwrap();
    assert!(before.shrinks);
    let filter = PruneFilter {
        keep_runs: vec!["kept".to_owned()],
        ..PruneFilter::default()
    };
    let done = prune(&store, filter).await;
    assert_eq!((done.state, done.runs), (PruneState::Done, 39));
    let after = store.storage(10).await.unwrap();
    assert!(
        after.file_bytes < before.file_bytes / 4,
        "{} of {} bytes",
        after.file_bytes,
        before.file_bytes
    );
    assert_eq!((after.free_bytes, after.log_bytes), (0, 0));
    assert_eq!((after.total.grades, after.total.holdings), (8, 1));
    let file = std::fs::metadata(fixture.database()).unwrap().len();
    assert_eq!(file, after.file_bytes);
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}
