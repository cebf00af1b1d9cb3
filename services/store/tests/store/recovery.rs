//! What was answered for is there after the process ended in any way.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use assay_core::store::{GradeFilter, Reader, Recorder};
use assay_store::{DurableStore, StoreOptions};

use crate::world::{TestClock, World, all, entry, holds, part, record};

#[tokio::test]
async fn a_store_dropped_without_closing_loses_nothing() {
    let world = World::new();
    let store = world.open().await;
    let lock = world.lock_database().await;
    let entries: Vec<_> = (0..5).map(|n| entry(n, 3)).collect();
    for entry in &entries {
        record(&store, entry.clone()).await;
    }
    drop((store, lock));

    let store = world.open().await;
    for entry in &entries {
        assert!(holds(&store, entry).await);
    }
    store.close().await.unwrap();
    assert_eq!(world.number("select count(*) from grades").await, 15);
    assert_eq!(world.number("select sum(grades) from rollups").await, 15);
    assert!(world.segments().is_empty());
}

#[tokio::test]
async fn a_torn_tail_costs_only_the_frame_that_was_not_answered() {
    let world = World::new();
    let store = world.open().await;
    let lock = world.lock_database().await;
    record(&store, entry(1, 2)).await;
    record(&store, entry(2, 2)).await;
    drop((store, lock));
    let segment = world.segments().pop().unwrap();
    let length = std::fs::metadata(&segment).unwrap().len();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&segment)
        .unwrap();
    file.set_len(length - 1).unwrap();

    let store = world.open().await;
    assert!(holds(&store, &entry(1, 2)).await);
    assert_eq!(all(&store, &GradeFilter::default(), 10).await.len(), 2);
    record(&store, entry(3, 2)).await;
    store.close().await.unwrap();
    assert_eq!(world.number("select count(*) from grades").await, 4);
}

#[tokio::test]
async fn applying_a_spool_twice_is_applying_it_once() {
    let world = World::new();
    let store = world.open().await;
    let lock = world.lock_database().await;
    for entry in [part(1, 0, 3), part(2, 0, 2), part(1, 2, 4), part(1, 0, 6)] {
        record(&store, entry).await;
    }
    let saved: Vec<_> = world
        .segments()
        .into_iter()
        .map(|path| (std::fs::read(&path).unwrap(), path))
        .collect();
    drop(lock);
    store.close().await.unwrap();
    let sums = "select sum(grades) * 1000000 + sum(passes) * 10000 + cast(sum(score_sum) * 100 as \
                integer) from rollups";
    let once = world.number(sums).await;
    assert_eq!(once, 8 * 1_000_000 + 4 * 10_000 + 500);

    for (bytes, path) in saved {
        std::fs::write(path, bytes).unwrap();
    }
    world.execute("delete from spool_progress").await.unwrap();
    let store = world.open().await;
    assert_eq!(store.runs(1).await.unwrap()[0].grades, 8);
    store.close().await.unwrap();
    assert_eq!(world.number(sums).await, once);
    assert_eq!(world.number("select grades from runs").await, 8);
    assert_eq!(world.number("select count(*) from packs").await, 3);
}

#[tokio::test]
async fn a_spool_whose_folder_was_deleted_starts_behind_what_was_applied() {
    let world = World::new();
    let store = world.open().await;
    record(&store, entry(1, 1)).await;
    store.close().await.unwrap();
    std::fs::remove_dir_all(world.spool()).unwrap();
    let store = world.open().await;
    record(&store, entry(2, 1)).await;
    drop(store);
    let store = world.open().await;
    assert_eq!(all(&store, &GradeFilter::default(), 10).await.len(), 2);
    store.close().await.unwrap();
    assert_eq!(world.number("select count(*) from grades").await, 2);
}

/// The process that is killed: opens the store named on its input and says on its output what was
/// answered for.
#[tokio::test]
#[ignore = "the other half of `kill_minus_nine_loses_nothing_that_was_answered`"]
async fn child() {
    let mut database = String::new();
    std::io::stdin().read_line(&mut database).unwrap();
    let store = DurableStore::open(&StoreOptions::new(database.trim()), TestClock::new())
        .await
        .unwrap();
    for n in 0.. {
        store.record(Arc::new(entry(n, 16))).await.unwrap();
        writeln!(std::io::stdout(), "\nanswered {n}").unwrap();
    }
}

#[tokio::test]
async fn kill_minus_nine_loses_nothing_that_was_answered() {
    for kill_after in [1, 7, 60] {
        let world = World::new();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "recovery::child", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(
            child.stdin.take().unwrap(),
            "sqlite://{}",
            world.database().display()
        )
        .unwrap();
        let mut answered = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if let Some(n) = line.unwrap().strip_prefix("answered ") {
                answered.push(n.parse::<u64>().unwrap());
            }
            if answered.len() == kill_after {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(answered.len() >= kill_after);

        let store = world.open().await;
        for n in &answered {
            assert!(holds(&store, &entry(*n, 16)).await);
        }
        let seen = all(&store, &GradeFilter::default(), 500).await.len();
        assert_eq!(store.runs(1).await.unwrap()[0].grades, seen as u64);
        store.close().await.unwrap();
        assert_eq!(
            world.number("select sum(grades) from rollups").await,
            seen as i64
        );
    }
}
