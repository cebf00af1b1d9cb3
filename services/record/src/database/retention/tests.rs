//! A prune that is interrupted after any of its steps, with one row per step, leaves a sound
//! record, and is finished later.

use std::path::Path;
use std::sync::Arc;

use assay_core::{BatchId, Hash};

use crate::database::sql;
use crate::database::{Database, Location};
use crate::options::RecordOptions;
use crate::pending::loaded_entry::LoadedEntry;
use crate::pending::packs::Contents;
use crate::read::bodies;
use crate::retention_step::RetentionStep;
use crate::spool::Position;
use crate::verify::verify;
use crate::{Body, BodyKind, Entry, StoredGrade};

/// Bodies of batches: each batch stores one that it shares with the next batches, and one of its
/// own for each grade.
const BATCHES: u64 = 6;
const GRADES: u32 = 3;

fn text(text: String) -> Body {
    Body {
        hash: Hash::of(text.as_bytes()),
        kind: BodyKind::Text,
        content: text.into_bytes(),
    }
}

fn own(n: u64, position: u32) -> Body {
    text(format!("completion {position} of batch {n}"))
}

fn shared(n: u64) -> Body {
    text(format!("prompt {}", n % 2))
}

fn entry(n: u64) -> Entry {
    let batch = BatchId::from(u128::from(n + 1) << 24);
    let caller: Arc<str> = format!("caller {}", n % 2).into();
    let mut bodies = vec![shared(n)];
    let mut grades = Vec::new();
    for position in 0..GRADES {
        let completion = own(n, position);
        let mut stored = StoredGrade::passed(batch, position, completion.hash);
        stored.source.caller = caller.clone();
        stored.grade.id = Some(format!("item {position}"));
        stored.grade.group = Some(format!("group {n}"));
        stored.source.task_hash = shared(n).hash;
        stored.grade.score = Some(0.5);
        grades.push(stored.into());
        bodies.push(completion);
    }
    Entry {
        batch,
        caller,
        run: None,
        step: None,
        items: GRADES,
        received_us: 0,
        grades,
        bodies,
        events: Vec::new(),
        claim: None,
    }
}

async fn open(path: &Path) -> Database {
    let location = Location::parse(&format!("sqlite://{}", path.display())).unwrap();
    Database::open(&location, "spool".to_owned(), 1, false)
        .await
        .unwrap()
}

async fn fill(path: &Path) {
    let sqlite = open(path).await;
    for n in 0..BATCHES {
        let entry = entry(n);
        let contents = Contents::of(&entry, 0).unwrap();
        let loaded = Arc::new(LoadedEntry::new(Arc::new(entry), contents));
        let position = Position {
            segment: 1,
            byte: n + 1,
        };
        sqlite
            .apply(&[(position, loaded)], position, 0)
            .await
            .unwrap();
    }
    sqlite.close().await;
}

/// The steps that delete the batches with these numbers, or only their bodies.
fn steps(batches: &[i64], bodies_only: bool) -> [RetentionStep; 2] {
    let batches = batches.into();
    let first = if bodies_only {
        RetentionStep::Bodies(batches)
    } else {
        RetentionStep::Grades(batches)
    };
    [first, RetentionStep::Sweep]
}

/// Does at most `limit` steps of one row; returns whether nothing is left.
async fn delete(sqlite: &Database, steps: &[RetentionStep], limit: usize) -> bool {
    let mut left = limit;
    for step in steps {
        loop {
            if left == 0 {
                return false;
            }
            left -= 1;
            if sqlite.retain(step, 1).await.unwrap().done {
                break;
            }
        }
    }
    true
}

async fn assert_sound(path: &Path) {
    let options = RecordOptions::new(format!("sqlite://{}", path.display()));
    assert_eq!(verify(&options, |_| {}).await.unwrap().damages, []);
}

async fn number(sqlite: &Database, query: &'static str) -> i64 {
    sql::query_scalar(query)
        .fetch_one(&mut sqlite.writer.acquire().await.unwrap())
        .await
        .unwrap()
}

/// Checks the record after the batches with the numbers from 1 to `deleted` were deleted, or only
/// their bodies.
async fn assert_deleted(sqlite: &Database, deleted: u64, bodies_only: bool) {
    let mut snapshot = sqlite.snapshot().await.unwrap();
    for n in 0..BATCHES {
        let is_kept = n >= deleted;
        for position in 0..GRADES {
            let body = own(n, position);
            let stored = bodies::find(&mut snapshot, body.hash).await.unwrap();
            assert_eq!(stored, is_kept.then_some(body));
        }
    }
    for n in [0, 1] {
        let stored = bodies::find(&mut snapshot, shared(n).hash).await.unwrap();
        assert_eq!(stored, Some(shared(n)));
    }
    drop(snapshot);
    let kept = (BATCHES - deleted) as i64;
    let bodies = number(sqlite, "select count(*) from bodies").await;
    assert_eq!(bodies, kept * i64::from(GRADES) + 2);
    let dead = "select count(*) from packs p where p.batch > 0 and not exists \
                (select 1 from batches where no = p.batch and deleted = 0)";
    assert_eq!(number(sqlite, dead).await, 0);
    // The newest batch of each shared body owns it, and the other one uses it.
    let uses = number(sqlite, "select count(*) from body_uses").await;
    assert_eq!(uses, kept - 2);
    let unequal = "select count(*) from batches where pack_bytes <> \
                   (select coalesce(sum(length(content)), 0) from packs where batch = batches.no)";
    assert_eq!(number(sqlite, unequal).await, 0);
    let held = "select (select sum(pack_bytes) from holdings) = \
                (select sum(length(content)) from packs where batch > 0)";
    assert_eq!(number(sqlite, held).await, 1);
    assert_eq!(number(sqlite, "select count(*) from body_sweep").await, 0);
    let expected = if bodies_only { BATCHES as i64 } else { kept };
    let batches = number(sqlite, "select count(*) from batches").await;
    assert_eq!(batches, expected);
    let items = number(sqlite, "select count(*) from items").await;
    assert_eq!(items, expected * i64::from(GRADES));
    let facets = "select count(distinct batch) from facets";
    assert_eq!(number(sqlite, facets).await, expected);
}

async fn interrupt_everywhere(bodies_only: bool) {
    let folder = tempfile::tempdir().unwrap();
    let filled = folder.path().join("filled.db");
    fill(&filled).await;
    let deletion = steps(&[1, 2, 3], bodies_only);
    let mut interruptions = 0;
    for limit in 1.. {
        let path = folder.path().join(format!("{limit}.db"));
        std::fs::copy(&filled, &path).unwrap();
        let sqlite = open(&path).await;
        let finished = delete(&sqlite, &deletion, limit).await;
        sqlite.close().await;
        assert_sound(&path).await;
        // As the next start does.
        let sqlite = open(&path).await;
        assert!(delete(&sqlite, &deletion, usize::MAX).await);
        assert_deleted(&sqlite, 3, bodies_only).await;
        sqlite.close().await;
        assert_sound(&path).await;
        if finished {
            break;
        }
        interruptions += 1;
    }
    // Each of the tables has several rows.
    assert!(interruptions > 30, "{interruptions}");
}

#[tokio::test]
async fn a_deletion_of_grades_can_be_interrupted_after_every_step() {
    interrupt_everywhere(false).await;
}

#[tokio::test]
async fn a_deletion_of_bodies_can_be_interrupted_after_every_step() {
    interrupt_everywhere(true).await;
}
