//! Deletion: what is deleted is gone from all tables, and the rest is intact.

use std::sync::Arc;
use std::time::Duration;

use assay_core::Hash;
use assay_record::storage::{PruneFilter, PruneState};
use assay_record::{Entry, Event, GradeFilter, Record, verify};

use crate::batches::{BatchSpec, deletable, ended, of_run, prune};
use crate::fixture::{
    Fixture, START_US, all, batch, change_all, claim, contains_entry, id, key, on, record,
};

pub(crate) fn runs(names: &[&str]) -> PruneFilter {
    PruneFilter {
        runs: names.iter().map(|name| (*name).to_owned()).collect(),
        ..PruneFilter::default()
    }
}

async fn record_all(store: &Record, entries: &[Entry]) {
    for entry in entries {
        record(store, entry.clone()).await;
    }
}

/// Whether nothing of the entry's grades and deletable bodies is left.
async fn is_gone(store: &Record, entry: &Entry) -> bool {
    for n in 0..entry.grades.len() {
        if store.grade(id(entry, n)).await.unwrap().is_some() {
            return false;
        }
    }
    bodies_are_gone(store, entry).await
}

async fn bodies_are_gone(store: &Record, entry: &Entry) -> bool {
    for hash in deletable(entry) {
        if store.body(hash).await.unwrap().is_some() {
            return false;
        }
    }
    true
}

pub(crate) async fn assert_sound(fixture: &Fixture) {
    let verified = verify(&fixture.options, |_| {}).await.unwrap();
    assert_eq!(verified.damages, []);
    let wrong = "select count(*) from caller_holdings c where bytes <> (\
         select coalesce(sum(grade_bytes + pack_bytes), 0) from holdings where caller = c.caller)";
    assert_eq!(fixture.number(wrong).await, 0);
}

const ROWS: [&str; 14] = [
    "select count(*) from grades",
    "select count(*) from documents",
    "select count(*) from items",
    "select count(*) from batches",
    "select count(*) from facets",
    "select count(*) from packs where size > 0",
    "select count(*) from bodies",
    "select count(*) from body_uses",
    "select count(*) from rollups",
    "select count(*) from step_numbers",
    "select count(*) from step_words",
    "select count(*) from prompt_history",
    "select count(*) from runs",
    "select sum(grades) * 1000000 + sum(batches) from holdings",
];

async fn rows(fixture: &Fixture) -> Vec<i64> {
    let mut counts = Vec::new();
    for query in ROWS {
        counts.push(fixture.number(query).await);
    }
    counts
}

#[tokio::test]
async fn deletes_a_run_from_every_table_and_keeps_another() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let kept: Vec<Entry> = (0..4).map(|n| of_run(n, "kept", 24)).collect();
    record_all(&store, &kept).await;
    fixture.applied(&store).await;
    let before = rows(&fixture).await;
    let summary = store.run("kept").await.unwrap();
    let steps = store.run_steps("kept", 1).await.unwrap();

    let deleted: Vec<Entry> = (4..9).map(|n| of_run(n, "deleted", 24)).collect();
    record_all(&store, &deleted).await;
    fixture.applied(&store).await;
    assert_ne!(rows(&fixture).await, before);
    let estimate = store.prune_estimate(&runs(&["deleted"])).await.unwrap();
    assert_eq!((estimate.batches, estimate.grades), (5, 120));

    let done = prune(&store, runs(&["deleted"])).await;
    assert_eq!(
        (done.state, done.error.as_deref()),
        (PruneState::Done, None)
    );
    assert_eq!((done.grades, done.runs), (120, 1));
    assert_eq!(done.body_bytes, estimate.body_bytes);
    assert_eq!(rows(&fixture).await, before);
    for entry in &deleted {
        assert!(is_gone(&store, entry).await);
    }
    for entry in &kept {
        assert!(contains_entry(&store, entry).await);
    }
    assert_eq!(store.run("deleted").await.unwrap(), None);
    assert_eq!(store.run("kept").await.unwrap(), summary);
    assert_eq!(store.run_steps("kept", 1).await.unwrap(), steps);
    assert_eq!(all(&store, &GradeFilter::default(), 50).await.len(), 96);
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

/// A batch of the run whose bodies are those of all such batches.
fn shared(n: u64, run: &str) -> Entry {
    BatchSpec {
        n,
        run: Some(run),
        caller: "local",
        grades: 16,
        tasks: "shared",
    }
    .entry()
}

#[tokio::test]
async fn keeps_bodies_that_other_batches_use_until_the_last_is_deleted() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let entries = [
        shared(0, "a"),
        shared(1, "b"),
        shared(2, "c"),
        shared(3, "b"),
    ];
    record_all(&store, &entries).await;
    fixture.applied(&store).await;
    assert!(fixture.number("select count(*) from body_uses").await > 0);

    prune(&store, runs(&["a"])).await;
    for entry in &entries[1..] {
        assert!(contains_entry(&store, entry).await);
    }
    assert_sound(&fixture).await;
    prune(&store, runs(&["b"])).await;
    assert!(contains_entry(&store, &entries[2]).await);
    assert_sound(&fixture).await;
    prune(&store, runs(&["c"])).await;
    for entry in &entries {
        assert!(is_gone(&store, entry).await);
    }
    // The policy is not deleted.
    assert_eq!(fixture.number("select count(*) from bodies").await, 1);
    assert_eq!(fixture.number("select count(*) from body_uses").await, 0);
    let held = store.storage(10).await.unwrap().total;
    assert_eq!((held.batches, held.grades, held.body_bytes), (0, 0, 0));

    // The same bodies can be stored again.
    record(&store, shared(4, "d")).await;
    fixture.applied(&store).await;
    assert!(contains_entry(&store, &shared(4, "d")).await);
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn keeps_bodies_that_only_an_earlier_entry_contained() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let first = shared(0, "a");
    let tasks: Vec<Hash> = deletable(&first).collect();
    let mut second = shared(1, "b");
    second.bodies.retain(|body| !tasks.contains(&body.hash));
    record_all(&store, &[first, second.clone()]).await;
    fixture.applied(&store).await;
    prune(&store, runs(&["a"])).await;
    assert!(contains_entry(&store, &shared(1, "b")).await);
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn keeps_a_body_that_is_recorded_again_before_the_sweep() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let entry = of_run(0, "a", 16);
    record(&store, entry.clone()).await;
    record(&store, of_run(1, "b", 16)).await;
    fixture.applied(&store).await;
    // As after the first step of a prune.
    fixture
        .execute(on(
            "update batches set deleted = 1 where no = 1; \
             insert into body_sweep (running, after) values (1, x'')",
            "update batches set deleted = 1 where no = 1; \
             insert into body_sweep (running, after) values (1, '')",
        ))
        .await
        .unwrap();
    let again = Entry {
        batch: batch(2),
        ..of_run(0, "c", 0)
    };
    let mut again = Entry {
        items: 16,
        bodies: entry.bodies.clone(),
        grades: entry.grades.clone(),
        ..again
    };
    let (batch, run, step) = (again.batch, again.run.clone(), again.step);
    change_all(&mut again, |source, grade| {
        source.batch = batch;
        grade.grade = batch.grade(grade.position);
        source.run = run.clone();
        source.step = step;
    });
    record(&store, again.clone()).await;
    fixture.applied(&store).await;
    assert!(contains_entry(&store, &again).await);
    store.close().await.unwrap();
    // The next start finishes the sweep.
    let store = fixture.open().await;
    while fixture.number("select count(*) from body_sweep").await > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(contains_entry(&store, &again).await);
    assert_eq!(
        fixture
            .number("select count(*) from packs where batch = 1")
            .await,
        0
    );
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn deletes_by_age_and_caller_and_keeps_the_sums_of_runs() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let of_caller = |n, caller| {
        BatchSpec {
            n,
            run: Some("run"),
            caller,
            grades: 8,
            tasks: caller,
        }
        .entry()
    };
    let entries = [
        of_caller(0, "x"),
        of_caller(1, "y"),
        of_caller(2, "x"),
        of_caller(3, "y"),
    ];
    record_all(&store, &entries).await;
    let summary = store.run("run").await.unwrap().unwrap();
    let filter = PruneFilter {
        caller: Some("x".to_owned()),
        before_us: Some(START_US + 2_000_000),
        ..PruneFilter::default()
    };
    let done = prune(&store, filter).await;
    assert_eq!((done.grades, done.runs), (8, 0));
    assert!(store.grade(id(&entries[0], 0)).await.unwrap().is_none());
    for entry in &entries[1..] {
        assert!(contains_entry(&store, entry).await);
    }
    assert_eq!(store.run("run").await.unwrap(), Some(summary));
    let held = store.storage(10).await.unwrap().holdings;
    let grades: Vec<_> = held
        .iter()
        .map(|held| (held.run.as_deref(), held.caller.as_str(), held.grades))
        .collect();
    assert_eq!(grades, [(Some("run"), "y", 16), (Some("run"), "x", 8)]);
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn deletes_only_bodies() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let entries: Vec<Entry> = (0..3).map(|n| of_run(n, "run", 8)).collect();
    record_all(&store, &entries).await;
    let summary = store.run("run").await.unwrap();
    let filter = PruneFilter {
        before_us: Some(START_US + 1_500_000),
        bodies_only: true,
        ..PruneFilter::default()
    };
    assert_eq!(store.prune_estimate(&filter).await.unwrap().batches, 2);
    let done = prune(&store, filter.clone()).await;
    assert_eq!((done.batches, done.grades), (2, 0));
    for entry in &entries[..2] {
        assert!(bodies_are_gone(&store, entry).await);
        for grade in &entry.grades {
            let stored = grade.stored().unwrap();
            assert_eq!(store.grade(stored.grade.grade).await.unwrap(), Some(stored));
        }
    }
    assert!(contains_entry(&store, &entries[2]).await);
    assert_eq!(store.run("run").await.unwrap(), summary);
    assert_eq!(store.prune_estimate(&filter).await.unwrap().batches, 0);
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn keeps_adjudications_pairs_and_claims() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let entry = of_run(0, "run", 8);
    record(&store, entry.clone()).await;
    let grade = id(&entry, 0);
    let adjudication = assay_record::event::Adjudication {
        id: 7,
        grade,
        channel: "text/default".to_owned(),
        version: 1,
        graded_pass: true,
        pass: false,
        weight: None,
        corrects: None,
        judged: None,
        caller: "operator".to_owned(),
        note: None,
        time_us: START_US,
    };
    let draw = assay_record::event::Draw {
        grade,
        channel: "text/default".to_owned(),
        probability: 0.5,
        weight: 1.0,
        time_us: START_US,
    };
    let events = vec![Event::Adjudicated(adjudication), Event::Drawn(draw)];
    let events = Entry::of_events(batch(90), "operator".into(), events, START_US);
    record(&store, events).await;
    record(&store, claim("once", 1, Some("the reply"))).await;
    fixture.applied(&store).await;
    let replies = store.storage(10).await.unwrap().replies;
    assert_eq!((replies[0].replies, replies[0].bytes), (1, 9));
    prune(&store, runs(&["run"])).await;
    assert_eq!(store.adjudications(grade).await.unwrap().len(), 1);
    assert!(store.draws(&[grade]).await.unwrap().is_empty());
    assert!(
        store
            .claim(&key("once"))
            .await
            .unwrap()
            .unwrap()
            .reply
            .is_some()
    );
    // Claims are deleted after a day, and no longer counted.
    fixture.clock.advance(Duration::from_secs(25 * 3_600));
    record(&store, of_run(2, "run", 4)).await;
    fixture.applied(&store).await;
    assert_eq!(store.storage(10).await.unwrap().replies, []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn enforces_limits_on_age() {
    let mut fixture = Fixture::new();
    fixture.options.limits.body_age_us = 10_000_000;
    fixture.options.limits.grade_age_us = 20_000_000;
    fixture.options.limits.keep_runs = vec!["kept".to_owned()];
    fixture.options.limits_interval = Duration::from_millis(20);
    let store = fixture.open().await;
    let (old, kept, young) = (
        of_run(0, "old", 8),
        of_run(1, "kept", 8),
        of_run(15, "young", 8),
    );
    record_all(&store, &[old.clone(), kept.clone(), young.clone()]).await;
    fixture.applied(&store).await;
    fixture.clock.advance(Duration::from_secs(12));
    while !bodies_are_gone(&store, &old).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(store.grade(id(&old, 0)).await.unwrap().is_some());
    fixture.clock.advance(Duration::from_secs(10));
    while !is_gone(&store, &old).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(contains_entry(&store, &kept).await);
    assert!(contains_entry(&store, &young).await);
    // Totals remain.
    assert_eq!(store.run("old").await.unwrap().unwrap().grades, 8);
    let prune = store.storage(10).await.unwrap().prune.unwrap();
    assert!(prune.automatic);
    ended(&store, prune.number).await;
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn enforces_the_limit_on_size_from_the_oldest() {
    let mut fixture = Fixture::new();
    let store = fixture.open().await;
    for n in 0..30 {
        record(&store, of_run(n, "run", 256)).await;
    }
    fixture.applied(&store).await;
    let before = store.storage(1).await.unwrap();
    store.close().await.unwrap();
    let limit = (before.file_bytes - before.free_bytes) * 3 / 4;
    fixture.options.limits.max_bytes = limit;
    fixture.options.limits_interval = Duration::from_millis(20);
    let store = fixture.open().await;
    let after = loop {
        let report = store.storage(1).await.unwrap();
        if report
            .prune
            .as_ref()
            .is_some_and(|prune| prune.state == PruneState::Done && prune.batches > 0)
        {
            break report;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(after.file_bytes - after.free_bytes <= limit);
    // The compressed bodies of these grades are small, so grades were deleted too.
    assert!(is_gone(&store, &of_run(0, "run", 256)).await);
    let newest = id(&of_run(29, "run", 256), 0);
    assert!(store.grade(newest).await.unwrap().is_some());
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn continues_a_prune_that_a_crash_interrupted() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let kept = of_run(0, "kept", 64);
    record(&store, kept.clone()).await;
    // More than the grades of a step.
    let large = of_run(1, "large", 20_000);
    record(&store, large.clone()).await;
    fixture.applied(&store).await;
    store.prune(runs(&["large"])).await.unwrap();
    while fixture
        .number("select count(*) from batches where deleted = 2")
        .await
        == 0
    {
        let batches = fixture.number("select count(*) from batches").await;
        assert_eq!(batches, 2, "the prune was not interrupted");
    }
    drop(store);
    let left = fixture.number("select count(*) from grades").await;
    assert!((65..20_064).contains(&left), "{left}");
    assert_sound(&fixture).await;

    let store = fixture.open().await;
    while fixture.number("select count(*) from batches").await > 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(contains_entry(&store, &kept).await);
    assert_eq!(fixture.number("select count(*) from grades").await, 64);
    // The prune itself has to be repeated to delete the sums of the run.
    let done = prune(&store, runs(&["large"])).await;
    assert_eq!((done.state, done.runs), (PruneState::Done, 1));
    assert_eq!(store.run("large").await.unwrap(), None);
    assert!(is_gone(&store, &large).await);
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn counts_batches_of_an_earlier_release_before_it_deletes() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let entries = [shared(0, "a"), shared(1, "b"), shared(2, "b")];
    record_all(&store, &entries).await;
    fixture.applied(&store).await;
    fixture
        .execute(
            "update batches set grades = null, grade_bytes = null, pack_bytes = null, \
             checksum = null; update packs set batch = null; delete from body_uses; \
             delete from holdings",
        )
        .await
        .unwrap();
    assert_eq!(store.storage(1).await.unwrap().uncounted_batches, 3);
    prune(&store, runs(&["a"])).await;
    for entry in &entries[1..] {
        assert!(contains_entry(&store, entry).await);
    }
    assert!(store.grade(id(&entries[0], 0)).await.unwrap().is_none());
    let report = store.storage(1).await.unwrap();
    assert_eq!((report.uncounted_batches, report.total.grades), (0, 32));
    assert_sound(&fixture).await;
    prune(&store, runs(&["b"])).await;
    for entry in &entries {
        assert!(is_gone(&store, entry).await);
    }
    store.close().await.unwrap();
}

#[tokio::test]
pub(crate) async fn prunes_while_grades_arrive_and_are_read() {
    let fixture = Fixture::new();
    let store = Arc::new(fixture.open().await);
    let old: Vec<Entry> = (0..40).map(|n| of_run(n, "old", 64)).collect();
    record_all(&store, &old).await;
    let writing = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for n in 100..160 {
                let spec = BatchSpec {
                    n,
                    run: Some(if n % 2 == 0 { "new" } else { "old" }),
                    caller: "local",
                    grades: 32,
                    // Bodies of batches that are being deleted.
                    tasks: &format!("batch {}", n % 40),
                };
                store.append(Arc::new(spec.entry())).await.unwrap();
                let listed = GradeFilter {
                    run: Some("new".to_owned()),
                    ..GradeFilter::default()
                };
                let page = store.grades(&listed, None, 100).await.unwrap();
                assert!(!page.grades.is_empty());
            }
        })
    };
    let done = prune(&store, runs(&["old"])).await;
    assert_eq!(
        (done.state, done.error.as_deref()),
        (PruneState::Done, None)
    );
    writing.await.unwrap();
    fixture.applied(&store).await;
    for entry in &old {
        assert!(store.grade(id(entry, 0)).await.unwrap().is_none());
    }
    let new = GradeFilter {
        run: Some("new".to_owned()),
        ..GradeFilter::default()
    };
    let grades = all(store.as_ref(), &new, 100).await;
    assert_eq!(grades.len(), 30 * 32);
    for grade in &grades {
        let hashes = [
            grade.source.task_hash,
            grade.source.completion_hash,
            grade.source.prompt_hash.unwrap(),
        ];
        for hash in hashes {
            let body = store.body(hash).await.unwrap().unwrap();
            assert_eq!(body.kind.hash(&body.content), hash);
        }
    }
    assert_sound(&fixture).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn reports_a_prune_that_cannot_write_and_finishes_the_next() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(0, "run", 8)).await;
    fixture.applied(&store).await;
    let lock = fixture.lock_database().await;
    let failed = prune(&store, runs(&["run"])).await;
    assert_eq!(failed.state, PruneState::Failed);
    assert!(failed.error.unwrap().contains("lock"));
    drop(lock);
    assert_eq!(prune(&store, runs(&["run"])).await.state, PruneState::Done);
    assert_eq!(fixture.number("select count(*) from grades").await, 0);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_run_that_receives_grades_is_not_taken_out_of_the_lists() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(0, "run", 8)).await;
    prune(&store, runs(&["run", "never"])).await;
    assert_eq!(store.runs(10).await.unwrap(), []);
    record(&store, of_run(1, "run", 8)).await;
    fixture.applied(&store).await;
    assert_eq!(store.run("run").await.unwrap().unwrap().grades, 8);
    let no_run = BatchSpec {
        n: 2,
        run: None,
        caller: "local",
        grades: 8,
        tasks: "none",
    };
    record(&store, no_run.entry()).await;
    let filter = PruneFilter {
        keep_runs: vec!["run".to_owned()],
        ..PruneFilter::default()
    };
    assert_eq!(prune(&store, filter).await.grades, 8);
    assert!(contains_entry(&store, &of_run(1, "run", 8)).await);

    assert_sound(&fixture).await;
    store.close().await.unwrap();
}
