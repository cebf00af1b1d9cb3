//! Acknowledged entries survive any end of the process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use assay_record::{GradeFilter, Record, RecordOptions, verify};

use crate::batches::of_run;
use crate::fixture::{Fixture, TestClock, all, contains_entry, entry, part, record};

#[tokio::test]
async fn loses_nothing_without_closing() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    let entries: Vec<_> = (0..5).map(|n| entry(n, 3)).collect();
    for entry in &entries {
        record(&store, entry.clone()).await;
    }
    drop((store, lock));

    let store = fixture.open().await;
    for entry in &entries {
        assert!(contains_entry(&store, entry).await);
    }
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 15);
    assert_eq!(fixture.number("select sum(grades) from rollups").await, 15);
    assert!(fixture.segments().is_empty());
}

#[tokio::test]
async fn a_torn_tail_loses_only_the_last_frame() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    record(&store, entry(1, 2)).await;
    record(&store, entry(2, 2)).await;
    drop((store, lock));
    let segment = fixture.segments().pop().unwrap();
    let length = std::fs::metadata(&segment).unwrap().len();
    // As if the process had ended before the last append was synced.
    std::fs::remove_file(segment.with_extension("end")).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&segment)
        .unwrap();
    file.set_len(length - 1).unwrap();

    let store = fixture.open().await;
    assert!(contains_entry(&store, &entry(1, 2)).await);
    assert_eq!(all(&store, &GradeFilter::default(), 10).await.len(), 2);
    record(&store, entry(3, 2)).await;
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 4);
}

#[tokio::test]
async fn applying_a_spool_twice_changes_nothing() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    for entry in [part(1, 0, 3), part(2, 0, 2), part(1, 2, 4), part(1, 0, 6)] {
        record(&store, entry).await;
    }
    let saved: Vec<_> = fixture
        .segments()
        .into_iter()
        .map(|path| (std::fs::read(&path).unwrap(), path))
        .collect();
    drop(lock);
    store.close().await.unwrap();
    let sums = "select sum(grades) * 1000000 + sum(passes) * 10000 + cast(sum(score_sum) * 100 as \
                integer) from rollups";
    let once = fixture.number(sums).await;
    // Appeals overturn all that do not pass.
    assert_eq!(once, 8 * 1_000_000 + 8 * 10_000 + 500);

    for (bytes, path) in saved {
        std::fs::write(path, bytes).unwrap();
    }
    fixture.execute("delete from spool_progress").await.unwrap();
    let store = fixture.open().await;
    assert_eq!(store.runs(1).await.unwrap()[0].grades, 8);
    store.close().await.unwrap();
    assert_eq!(fixture.number(sums).await, once);
    assert_eq!(fixture.number("select grades from runs").await, 8);
    assert_eq!(fixture.number("select count(*) from packs").await, 3);
}

#[tokio::test]
async fn a_new_spool_starts_after_the_stored_progress() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 1)).await;
    store.close().await.unwrap();
    std::fs::remove_dir_all(fixture.spool()).unwrap();
    let store = fixture.open().await;
    record(&store, entry(2, 1)).await;
    drop(store);
    let store = fixture.open().await;
    assert_eq!(all(&store, &GradeFilter::default(), 10).await.len(), 2);
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 2);
}

/// A record with one batch in the database and three in the spool that were acknowledged.
async fn with_unapplied_entries() -> (Fixture, std::path::PathBuf) {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(0, "run", 2)).await;
    fixture.applied(&store).await;
    let lock = fixture.lock_database().await;
    for n in 1..4 {
        record(&store, of_run(n, "run", 2)).await;
    }
    drop((store, lock));
    let segment = fixture.segments().pop().unwrap();
    (fixture, segment)
}

/// Verifies the record before and after a start, and returns the number of grades after it.
async fn grades_after_reported_loss(fixture: &Fixture) -> usize {
    let damages = verify(&fixture.options, |_| {}).await.unwrap().damages;
    assert!(
        damages
            .iter()
            .any(|damage| damage.problem.contains("missing")),
        "before the start: {damages:?}"
    );
    let store = fixture.open().await;
    assert_eq!(store.state().set_aside, 1);
    let listed = store.set_aside().await.unwrap();
    assert!(listed[0].reason.contains("missing"), "{}", listed[0].reason);
    let grades = all(&store, &GradeFilter::default(), 10).await.len();
    // The record goes on, and the report remains once the segment is deleted.
    record(&store, of_run(9, "run", 1)).await;
    assert_eq!(store.apply_set_aside().await.unwrap().len(), 1);
    store.close().await.unwrap();
    let store = fixture.open().await;
    assert_eq!(store.state().set_aside, 1);
    store.close().await.unwrap();
    let damages = verify(&fixture.options, |_| {}).await.unwrap().damages;
    assert!(
        damages
            .iter()
            .any(|damage| damage.problem.contains("lost unless")),
        "{damages:?}"
    );
    grades
}

#[tokio::test]
async fn reports_an_emptied_segment() {
    let (fixture, segment) = with_unapplied_entries().await;
    std::fs::write(segment, []).unwrap();
    assert_eq!(grades_after_reported_loss(&fixture).await, 2);
}

#[tokio::test]
async fn reports_a_segment_that_was_cut_in_a_frame_or_between_two() {
    let (fixture, segment) = with_unapplied_entries().await;
    let bytes = std::fs::read(&segment).unwrap();
    std::fs::write(&segment, &bytes[..bytes.len() * 2 / 3]).unwrap();
    assert_eq!(grades_after_reported_loss(&fixture).await, 4);

    let (fixture, segment) = with_unapplied_entries().await;
    std::fs::write(&segment, &std::fs::read(&segment).unwrap()[..32]).unwrap();
    assert_eq!(grades_after_reported_loss(&fixture).await, 2);
}

#[tokio::test]
async fn reports_a_missing_segment() {
    let (fixture, segment) = with_unapplied_entries().await;
    std::fs::remove_file(segment).unwrap();
    assert_eq!(grades_after_reported_loss(&fixture).await, 2);
}

#[tokio::test]
async fn the_progress_of_the_database_shows_that_a_segment_is_too_short() {
    let (fixture, segment) = with_unapplied_entries().await;
    std::fs::remove_file(segment.with_extension("end")).unwrap();
    std::fs::write(segment, []).unwrap();
    assert_eq!(grades_after_reported_loss(&fixture).await, 2);
}

#[tokio::test]
async fn an_unacknowledged_tail_is_not_reported() {
    let (fixture, segment) = with_unapplied_entries().await;
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes.extend_from_slice(&bytes.clone()[32..80]);
    std::fs::write(segment, bytes).unwrap();
    assert_eq!(verify(&fixture.options, |_| {}).await.unwrap().damages, []);
    let store = fixture.open().await;
    assert_eq!(store.state().set_aside, 0);
    assert_eq!(all(&store, &GradeFilter::default(), 10).await.len(), 8);
    store.close().await.unwrap();
    assert_eq!(verify(&fixture.options, |_| {}).await.unwrap().damages, []);
    assert_eq!(std::fs::read_dir(fixture.spool()).unwrap().count(), 1);
}

/// The process that is killed: opens the store named on stdin and prints the acknowledged entries.
#[tokio::test]
#[ignore = "child process of `loses_no_acknowledged_entry_after_kill`"]
async fn child() {
    let mut database = String::new();
    std::io::stdin().read_line(&mut database).unwrap();
    let store = Record::open(&RecordOptions::new(database.trim()), TestClock::new())
        .await
        .unwrap();
    for n in 0.. {
        store.append(Arc::new(entry(n, 16))).await.unwrap();
        writeln!(std::io::stdout(), "\nacknowledged {n}").unwrap();
    }
}

#[tokio::test]
async fn loses_no_acknowledged_entry_after_kill() {
    for kill_after in [1, 7, 60] {
        let fixture = Fixture::new();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "recovery::child", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(
            child.stdin.take().unwrap(),
            "sqlite://{}",
            fixture.database().display()
        )
        .unwrap();
        let mut acknowledged = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if let Some(n) = line.unwrap().strip_prefix("acknowledged ") {
                acknowledged.push(n.parse::<u64>().unwrap());
            }
            if acknowledged.len() == kill_after {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(acknowledged.len() >= kill_after);

        let store = fixture.open().await;
        for n in &acknowledged {
            assert!(contains_entry(&store, &entry(*n, 16)).await);
        }
        let found = all(&store, &GradeFilter::default(), 500).await.len();
        assert_eq!(store.runs(1).await.unwrap()[0].grades, found as u64);
        store.close().await.unwrap();
        assert_eq!(
            fixture.number("select sum(grades) from rollups").await,
            found as i64
        );
    }
}
