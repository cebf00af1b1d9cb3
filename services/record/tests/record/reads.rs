//! Reads return every acknowledged entry: they wait for those that are pending.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{GradeId, Hash};
use assay_record::{Entry, GradeFilter};

use crate::fixture::{
    Fixture, all, batch, change, change_all, claim, contains_entry, entry, key, part, record,
};

#[tokio::test]
async fn reads_a_recorded_entry_immediately_and_after_reopening() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let entry = entry(1, 5);
    record(&store, entry.clone()).await;
    assert!(contains_entry(&store, &entry).await);
    store.close().await.unwrap();

    let store = fixture.open().await;
    assert!(contains_entry(&store, &entry).await);
    assert_eq!(store.grade(batch(1).grade(5)).await.unwrap(), None);
    assert_eq!(store.body(Hash::of(b"nothing")).await.unwrap(), None);
    store.ready().await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn all_reads_wait_for_pending_entries() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let before = entry(1, 3);
    record(&store, before.clone()).await;
    store.close().await.unwrap();

    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    let waiting = entry(2, 4);
    record(&store, waiting.clone()).await;
    record(&store, claim("key", 2, Some("reply"))).await;
    assert_eq!(fixture.number("select count(*) from grades").await, 3);
    drop(lock);

    assert!(contains_entry(&store, &before).await && contains_entry(&store, &waiting).await);
    assert_eq!(all(&store, &GradeFilter::default(), 2).await.len(), 7);
    let runs = store.runs(10).await.unwrap();
    assert_eq!(runs.len(), 1);
    // Appeals overturn all that do not pass.
    assert_eq!((runs[0].grades, runs[0].passed), (7, 7));
    assert_eq!(runs[0].mean_score, Some((4.0 + 3.0 * 0.25) / 7.0));
    assert_eq!(runs[0].last_step, Some(2));
    let claimed = store.claim(&key("key")).await.unwrap().unwrap();
    assert_eq!(claimed.reply.unwrap().body, b"reply");
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 7);
}

#[tokio::test]
async fn a_read_fails_only_if_entries_that_it_may_contain_stay_pending() {
    let mut fixture = Fixture::new();
    fixture.options.read_timeout = Duration::from_millis(50);
    let store = fixture.open().await;
    let applied = entry(1, 3);
    record(&store, applied.clone()).await;
    fixture.applied(&store).await;
    let lock = fixture.lock_database().await;
    record(&store, entry(2, 4)).await;
    record(&store, claim("key", 2, Some("reply"))).await;

    assert!(contains_entry(&store, &applied).await);
    assert_eq!(store.claim(&key("other")).await.unwrap(), None);
    assert!(store.dataset_checks(None, 1).await.unwrap().is_empty());
    assert_eq!(store.run("run-b").await.unwrap(), None);
    assert_eq!(store.applied_channels().await.unwrap().graded.len(), 1);
    let id = batch(2).grade(1);
    let reads = [
        store.grade(id).await.map(drop),
        store
            .grades(&GradeFilter::default(), None, 1)
            .await
            .map(drop),
        store.claim(&key("key")).await.map(drop),
        store.run("run-a").await.map(drop),
        store.channels().await.map(drop),
    ];
    for read in reads {
        let error = read.unwrap_err().to_string();
        assert!(
            error.contains("not in the database after 0.05 seconds"),
            "{error}"
        );
    }
    drop(lock);
    fixture.applied(&store).await;
    assert!(store.grade(id).await.unwrap().is_some());
    store.close().await.unwrap();
}

#[tokio::test]
async fn what_a_batch_reads_lacks_what_stays_pending() {
    let mut fixture = Fixture::new();
    fixture.options.read_timeout = Duration::from_millis(50);
    let store = fixture.open().await;
    record(&store, entry(1, 3)).await;
    fixture.applied(&store).await;
    let read = async || {
        let visits = store.visits("run-a", None).await.unwrap();
        let judged: u32 = visits.values().flatten().map(|visit| visit.judged).sum();
        let names = store.used_names().await.unwrap();
        (judged, store.prompts("run-a").await.unwrap(), names)
    };
    let applied = read().await;
    let lock = fixture.lock_database().await;
    record(&store, entry(2, 4)).await;
    assert_eq!(read().await, applied);
    drop(lock);
    fixture.applied(&store).await;
    assert!(read().await.0 > applied.0);
    store.close().await.unwrap();
}

#[tokio::test]
async fn reads_entries_beyond_the_memory_limit_from_the_spool() {
    let mut fixture = Fixture::new();
    fixture.options.pending_bytes = 1;
    fixture.options.segment_bytes = 2_000;
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    let entries: Vec<_> = (0..10).map(|n| entry(n, 3)).collect();
    for entry in &entries {
        record(&store, entry.clone()).await;
    }
    assert!(fixture.segments().len() > 1);
    drop(lock);
    for entry in &entries {
        assert!(contains_entry(&store, entry).await);
    }
    assert_eq!(all(&store, &GradeFilter::default(), 7).await.len(), 30);
    assert_eq!(store.runs(1).await.unwrap()[0].grades, 30);
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 30);
    assert!(fixture.segments().is_empty());
}

#[tokio::test]
async fn reads_back_large_evidence_in_full() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut entry = entry(1, 3);
    let results = vec![r#"["accepted",1234567890,83886080]"#; 16_000].join(",");
    change(&mut entry.grades[1], |_, grade| {
        grade.evidence = serde_json::from_str(&format!(r#"{{"results":[{results}]}}"#)).unwrap();
    });
    let stored = entry.grades[1].stored().unwrap();
    let json = serde_json::to_string(&stored.grade.evidence).unwrap();
    assert!(json.len() > 500_000);
    record(&store, entry.clone()).await;
    assert!(contains_entry(&store, &entry).await);
    store.close().await.unwrap();

    let store = fixture.open().await;
    assert!(contains_entry(&store, &entry).await);
    assert_eq!(all(&store, &GradeFilter::default(), 2).await.len(), 3);
    store.close().await.unwrap();
}

#[tokio::test]
async fn counts_a_repeated_batch_once() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, part(1, 0, 3)).await;
    store.close().await.unwrap();

    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    let mut again = part(1, 0, 5);
    change_all(&mut again, |_, grade| {
        grade.verdict = Some("changed".into());
    });
    record(&store, again.clone()).await;
    record(&store, again).await;
    drop(lock);
    let check = async || {
        assert_eq!(store.runs(1).await.unwrap()[0].grades, 5);
        let changed = GradeFilter {
            verdicts: vec!["changed".to_owned()],
            ..GradeFilter::default()
        };
        let changed = all(&store, &changed, 10).await;
        let positions: Vec<u32> = changed.iter().map(|stored| stored.grade.position).collect();
        assert_eq!(positions, [4, 3], "the first grade of each id is kept");
        let first = store.grade(batch(1).grade(0)).await.unwrap().unwrap();
        assert_eq!(first.grade.verdict.as_deref(), Some("correct"));
    };
    check().await;
    while store.state().pending > 0 {
        tokio::task::yield_now().await;
    }
    check().await;
    store.close().await.unwrap();
    assert_eq!(fixture.number("select sum(grades) from rollups").await, 5);
}

#[tokio::test]
async fn a_store_in_memory_creates_no_files() {
    let fixture = Fixture::new();
    let mut options = fixture.options.clone();
    options.database = "sqlite::memory:".to_owned();
    options.spool = None;
    let store = assay_record::Record::open(&options, fixture.clock.clone())
        .await
        .unwrap();
    let entry = entry(1, 3);
    record(&store, entry.clone()).await;
    assert!(contains_entry(&store, &entry).await);
    while store.state().pending > 0 {
        tokio::task::yield_now().await;
    }
    assert!(contains_entry(&store, &entry).await);
    assert_eq!(all(&store, &GradeFilter::default(), 2).await.len(), 3);
    store.close().await.unwrap();
    assert!(!fixture.spool().exists());
}

#[tokio::test]
async fn acknowledges_concurrent_entries() {
    let fixture = Fixture::new();
    let store = Arc::new(fixture.open().await);
    let records = (0..200).map(|n| {
        let store = store.clone();
        tokio::spawn(async move { store.append(Arc::new(entry(n, 1))).await })
    });
    for done in futures::future::join_all(records).await {
        done.unwrap().unwrap();
    }
    assert_eq!(
        all(store.as_ref(), &GradeFilter::default(), 64).await.len(),
        200
    );
    store.close().await.unwrap();
    assert_eq!(fixture.number("select count(*) from grades").await, 200);
}

#[tokio::test]
async fn reads_grades_and_bodies_in_bulk() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut entries: Vec<Entry> = (1..=6).map(|n| entry(n, 5)).collect();
    // The ids of two batches can be so close that the nearest one has no such grade.
    let mut close = entry(7, 3);
    close.batch = (u128::from(batch(6)) + 100).into();
    let id = close.batch;
    change_all(&mut close, |source, grade| {
        source.batch = id;
        grade.grade = id.grade(grade.position);
    });
    entries.push(close);
    for entry in &entries {
        record(&store, entry.clone()).await;
    }
    let mut ids: Vec<GradeId> = (entries.iter())
        .flat_map(|entry| (0..entry.items).map(|position| entry.batch.grade(position)))
        .collect();
    let stored = ids.clone();
    ids.extend([
        batch(3).grade(5),
        batch(6).grade(50),
        batch(9).grade(0),
        ids[0],
    ]);
    let found = store.grades_by_id(&ids).await.unwrap();
    assert_eq!(found.len(), stored.len());
    for id in &stored {
        assert_eq!(
            found.get(id),
            store.grade(*id).await.unwrap().as_ref(),
            "{id}"
        );
    }

    let (mut listed, mut before) = (Vec::new(), None);
    loop {
        let filter = GradeFilter {
            verdicts: vec!["correct".to_owned()],
            ..GradeFilter::default()
        };
        let (page, next) = store.grade_ids(&filter, before, 4).await.unwrap();
        let grades = store.grades(&filter, before, 4).await.unwrap();
        let same: Vec<_> = grades
            .grades
            .iter()
            .map(|stored| stored.grade.grade)
            .collect();
        assert_eq!((&page, next), (&same, grades.next));
        listed.extend(page);
        before = next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(listed.len(), 20, "every second of all, from the first");

    let hashes = found.values().map(|stored| stored.source.completion_hash);
    let mut hashes: Vec<Hash> = hashes.collect();
    hashes.push(Hash::of(b"nothing"));
    let bodies = store.bodies(&hashes).await.unwrap();
    assert_eq!(bodies.len(), hashes.len() - 1);
    for hash in &hashes {
        let alone = store.body(*hash).await.unwrap();
        assert_eq!(bodies.get(hash), alone.as_ref());
    }
}
