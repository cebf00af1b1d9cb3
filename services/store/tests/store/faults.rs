//! What fails is said, and nothing that was answered for is lost by it.

use std::sync::Arc;
use std::time::Duration;

use assay_core::store::{GradeFilter, Reader, Recorder, StoreError};
use assay_store::{DurableStore, OpenError, OpenSpoolError, StoreOptions};

use crate::world::{World, all, batch, entry, holds, part, record};

#[tokio::test]
async fn one_spool_is_used_by_one_store() {
    let world = World::new();
    let store = world.open().await;
    let refused = world.try_open().await.err().unwrap();
    assert!(matches!(
        refused,
        OpenError::Spool(OpenSpoolError::InUse { .. })
    ));
    assert!(refused.to_string().contains("is used by another node"));
    store.close().await.unwrap();
    drop(world.open().await);
    drop(world.open().await);
}

#[tokio::test]
async fn a_spool_that_cannot_be_written_refuses_until_it_can() {
    let world = World::new();
    let store = world.open().await;
    let before = entry(1, 2);
    record(&store, before.clone()).await;

    let away = world.spool().with_extension("away");
    std::fs::rename(world.spool(), &away).unwrap();
    std::fs::write(world.spool(), b"not a folder").unwrap();
    for _ in 0..3 {
        let refused = store.record(Arc::new(entry(2, 2))).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))));
    }
    assert_eq!(
        store.grade(batch(2).grade(0)).await.unwrap(),
        None,
        "what was refused is not seen"
    );

    std::fs::remove_file(world.spool()).unwrap();
    let after = entry(3, 2);
    record(&store, after.clone()).await;
    assert!(holds(&store, &before).await && holds(&store, &after).await);
    assert!(
        world.try_open().await.is_err(),
        "the new folder is locked as the old one was"
    );
    store.close().await.unwrap();
    assert_eq!(world.number("select count(*) from grades").await, 4);
}

#[tokio::test]
async fn a_link_to_the_database_leads_to_the_same_lock() {
    for exists in [true, false] {
        let world = World::new();
        if exists {
            world.open().await.close().await.unwrap();
        }
        std::fs::create_dir(world.root().join("links")).unwrap();
        let link = world.root().join("links/link.db");
        std::os::unix::fs::symlink("../assay.db", &link).unwrap();
        let options = StoreOptions::new(format!("sqlite://{}", link.display()));
        let store = DurableStore::open(&options, world.clock.clone())
            .await
            .unwrap();
        let refused = world.try_open().await.err().unwrap();
        assert!(matches!(
            refused,
            OpenError::Spool(OpenSpoolError::InUse { .. })
        ));
        record(&store, entry(1, 2)).await;
        store.close().await.unwrap();

        let store = world.open().await;
        assert!(holds(&store, &entry(1, 2)).await);
        let refused = DurableStore::open(&options, world.clock.clone())
            .await
            .err()
            .unwrap();
        assert!(matches!(
            refused,
            OpenError::Spool(OpenSpoolError::InUse { .. })
        ));
    }
}

#[tokio::test]
async fn a_database_deleted_under_a_running_store_is_made_anew_from_the_spool() {
    // Segments of one commit each, and one for all.
    for segment_bytes in [1, 64 << 20] {
        for closes in [true, false] {
            let mut world = World::new();
            world.options.segment_bytes = segment_bytes;
            let store = world.open().await;
            record(&store, entry(1, 2)).await;
            world.applied(&store).await;
            store.ready().await.unwrap();

            for file in ["assay.db", "assay.db-wal", "assay.db-shm"] {
                std::fs::remove_file(world.root().join(file)).unwrap();
            }
            let after: Vec<_> = (2..6).map(|n| entry(n, 2)).collect();
            for entry in &after {
                record(&store, entry.clone()).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert_eq!(
                store.pending_entries(),
                after.len(),
                "nothing counts as applied"
            );
            let refused = store.ready().await.unwrap_err();
            assert!(refused.to_string().contains("went away"));
            if closes {
                let refused = store.close().await.unwrap_err();
                assert!(refused.to_string().contains("restart the node"));
            }
            drop(store);

            let store = world.open().await;
            store.ready().await.unwrap();
            for entry in &after {
                assert!(holds(&store, entry).await);
            }
            store.close().await.unwrap();
            assert!(world.number("select count(*) from grades").await >= 8);
            assert!(world.segments().is_empty());
        }
    }
}

#[tokio::test]
async fn a_database_that_is_put_back_takes_what_waited() {
    let world = World::new();
    let store = world.open().await;
    record(&store, entry(1, 2)).await;
    world.applied(&store).await;
    let away = world.root().join("away");
    std::fs::rename(world.database(), &away).unwrap();
    std::fs::write(world.database(), b"").unwrap();
    record(&store, entry(2, 2)).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(store.pending_entries(), 1);
    assert!(
        store
            .ready()
            .await
            .unwrap_err()
            .to_string()
            .contains("replaced by another")
    );

    std::fs::rename(&away, world.database()).unwrap();
    world.applied(&store).await;
    store.ready().await.unwrap();
    store.close().await.unwrap();
    assert_eq!(world.number("select count(*) from grades").await, 4);
}

#[tokio::test]
async fn what_is_answered_after_the_whole_folder_was_deleted_survives() {
    for closes in [true, false] {
        let world = World::new();
        let store = world.open().await;
        record(&store, entry(1, 2)).await;
        world.applied(&store).await;

        std::fs::remove_dir_all(world.root()).unwrap();
        let mut answered = Vec::new();
        for n in 2..6 {
            if store.record(Arc::new(entry(n, 2))).await.is_ok() {
                answered.push(n);
            }
        }
        assert_eq!(
            answered,
            [3, 4, 5],
            "the first finds its segment gone, the others go to a new folder"
        );
        assert!(store.ready().await.is_err());
        let refused = world.try_open().await.err().unwrap();
        assert!(
            matches!(refused, OpenError::Spool(OpenSpoolError::InUse { .. })),
            "the new folder is locked"
        );
        if closes {
            store.close().await.unwrap_err();
        }
        drop(store);

        let store = world.open().await;
        for n in answered {
            assert!(holds(&store, &entry(n, 2)).await);
        }
        store.close().await.unwrap();
        assert_eq!(world.number("select count(*) from grades").await, 6);
    }
}

#[tokio::test]
async fn a_folder_that_became_another_spool_is_not_written_to() {
    let world = World::new();
    let store = world.open().await;
    record(&store, entry(1, 2)).await;
    std::fs::remove_dir_all(world.spool()).unwrap();
    std::fs::create_dir(world.spool()).unwrap();
    std::fs::write(world.spool().join("identity"), b"another").unwrap();
    for _ in 0..3 {
        assert!(store.record(Arc::new(entry(2, 2))).await.is_err());
    }
    assert!(world.segments().is_empty());
    std::fs::remove_file(world.spool().join("identity")).unwrap();
    record(&store, entry(3, 2)).await;
    store.close().await.unwrap();
    assert_eq!(world.number("select count(*) from grades").await, 4);
}

#[tokio::test]
async fn a_closed_store_takes_nothing_and_closes_twice() {
    let world = World::new();
    let store = world.open().await;
    store.close().await.unwrap();
    store.close().await.unwrap();
    let refused = store.record(Arc::new(entry(1, 1))).await.unwrap_err();
    assert!(refused.to_string().contains("closed"));
}

#[tokio::test]
async fn closing_gives_up_on_a_database_that_stays_away_and_loses_nothing() {
    let mut world = World::new();
    world.options.close_timeout = Duration::ZERO;
    let store = world.open().await;
    let lock = world.lock_database().await;
    let entry = entry(1, 2);
    record(&store, entry.clone()).await;
    let refused = store.close().await.unwrap_err();
    assert!(refused.to_string().contains("follow at the next start"));
    drop((store, lock));

    let store = world.open().await;
    assert!(holds(&store, &entry).await);
}

#[tokio::test]
async fn an_entry_that_contradicts_itself_is_refused() {
    let world = World::new();
    let store = world.open().await;
    let mut other_run = entry(1, 2);
    other_run.grades[1].run = Some("other".into());
    let mut other_id = entry(1, 2);
    other_id.grades[1].grade = batch(2).grade(1);
    let mut twice = entry(1, 2);
    twice.grades.push(twice.grades[0].clone());
    for entry in [other_run, other_id, twice] {
        let refused = store.record(Arc::new(entry)).await;
        assert!(matches!(refused, Err(StoreError::Inconsistent(_))));
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
async fn a_url_of_no_known_database_is_an_error_that_says_what_to_write() {
    let world = World::new();
    let options = StoreOptions::new("mysql://somewhere");
    let refused = DurableStore::open(&options, world.clock.clone())
        .await
        .err()
        .unwrap();
    assert!(refused.to_string().contains("`sqlite://PATH`"));
}

#[tokio::test]
async fn grades_are_neither_changed_nor_deleted_outside_of_retention() {
    let world = World::new();
    let store = world.open().await;
    record(&store, entry(1, 2)).await;
    store.close().await.unwrap();
    for sql in ["update grades set score = 1", "delete from grades"] {
        let refused = world.execute(sql).await.unwrap_err();
        assert!(refused.to_string().contains("grades are append-only"));
    }
    world
        .execute("insert into retention values (1); delete from grades; delete from retention")
        .await
        .unwrap();
    assert_eq!(world.number("select count(*) from grades").await, 0);
}
