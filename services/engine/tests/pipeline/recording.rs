//! What is recorded, and what is reported if it cannot be recorded.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use assay_core::{Completion, Meta};
use assay_engine::Mode;
use assay_record::BodyKind;

use crate::fixtures::{batch, fixture, item, keyed};

#[tokio::test]
async fn grades_without_recording_if_the_record_fails() {
    let fixture = fixture().await;
    fixture.recorded.broken.store(true, Ordering::Relaxed);
    let reply = fixture
        .engine
        .grade(batch(vec![item("exact", "1", "1")]), Mode::Whole)
        .await
        .unwrap();
    let result = reply.grades().next().unwrap();
    assert!(!result.recorded && result.pass == Some(true));
    let totals = fixture.engine.totals();
    assert_eq!((totals.unrecorded, totals.without_step), (1, 1));
}

#[tokio::test]
async fn an_unrecorded_batch_does_not_claim_its_key() {
    let fixture = fixture().await;
    fixture.recorded.broken.store(true, Ordering::Relaxed);
    let request = || {
        fixture.engine.grade_once(
            keyed("k", "body"),
            batch(vec![item("exact", "1", "1")]),
            Mode::Whole,
        )
    };
    request().await.map(drop).unwrap();
    fixture.recorded.broken.store(false, Ordering::Relaxed);
    request().await.map(drop).unwrap();
    assert_eq!(fixture.recorded.grades().len(), 1);
}

#[tokio::test]
async fn records_bodies_once() {
    let fixture = fixture().await;
    let mut first = item("exact", "1", "1");
    first.item.prompt = Some(Completion::Text("one?".into()));
    first.item.meta = Meta {
        tokens: Some(7),
        ..Meta::default()
    };
    first.checks.push(("again".to_owned(), first.task.clone()));
    let reply = fixture
        .engine
        .grade(batch(vec![first, item("exact", "1", "1")]), Mode::Whole)
        .await
        .unwrap();
    {
        let entries = fixture.recorded.entries.lock().unwrap();
        let kinds: Vec<_> = entries[0].bodies.iter().map(|body| body.kind).collect();
        assert_eq!(kinds, [BodyKind::Task, BodyKind::Text, BodyKind::Text]);
    }
    assert_eq!(reply.grades().count(), 2);
    let measures = fixture.recorded.grades()[0].grade.measures.clone();
    assert_eq!(measures, BTreeMap::from([("tokens".into(), 7.0)]));
}

#[tokio::test]
async fn warming_up_grades_examples_and_records_nothing() {
    let fixture = fixture().await;
    fixture.engine.warm().await;
    assert!(
        fixture.graded.load(Ordering::Relaxed) > 0,
        "no example was graded"
    );
    assert!(fixture.recorded.entries.lock().unwrap().is_empty());
    let reply = fixture
        .engine
        .grade(batch(vec![item("exact", "1", "1")]), Mode::Whole)
        .await
        .unwrap();
    assert!(
        !reply.grades().next().unwrap().cached,
        "the result of the example must not be cached"
    );
}

#[tokio::test]
async fn warming_up_continues_without_a_readable_record() {
    let fixture = fixture().await;
    fixture.recorded.broken.store(true, Ordering::Relaxed);
    fixture.engine.warm().await;
    assert!(
        fixture.graded.load(Ordering::Relaxed) > 0,
        "no example was graded"
    );
}
