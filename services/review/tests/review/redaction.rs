//! What is stored of texts that match a pattern.

use assay_core::Completion;
use assay_engine::{BodyPolicy, Keeping, Mode, Redaction, Redactor};
use assay_record::BodyKind;
use assay_record::pair::Pair;
use assay_review::pairs::NewPair;
use assay_review::replay::ReplayError;

use crate::fixtures::{Fixture, batch, fixture_keeping, item};
use crate::review;

const SECRET: &str = "secret-4711";

async fn redacting() -> Fixture {
    let redaction = Redaction {
        name: "secret".to_owned(),
        pattern: r"secret-\d+".to_owned(),
        replacement: "[secret]".to_owned(),
    };
    fixture_keeping(Keeping {
        bodies: BodyPolicy::All,
        redactor: Redactor::new(&[redaction]).unwrap(),
    })
    .await
}

#[tokio::test]
async fn a_redacted_grade_cannot_be_replayed() {
    let fixture = redacting().await;
    let items = vec![item("exact", SECRET, SECRET), item("exact", "1", "1")];
    let reply = fixture.engine.grade(batch(items), Mode::Whole);
    let ids: Vec<_> = reply
        .await
        .unwrap()
        .grades()
        .map(|grade| grade.grade)
        .collect();
    let error = review(&fixture).replay(ids[0]).await.unwrap_err();
    assert!(matches!(error, ReplayError::Redacted));
    assert!(error.to_string().contains("redacted"));
    assert!(!review(&fixture).replay(ids[1]).await.unwrap().flipped());
}

#[tokio::test]
async fn pairs_are_redacted_and_stored_once() {
    let fixture = redacting().await;
    let text = |text: &str| Completion::Text(text.into());
    let pair = || NewPair {
        pair: Pair {
            prompt: text("ask"),
            accepted: text(SECRET),
            rejected: text("no"),
            reference: None,
        },
        source_json: Some(format!(r#"{{"run":"{SECRET}"}}"#)),
    };
    let review = review(&fixture);
    let collect = async || {
        let collected = review.collect_pairs("model", vec![pair()], "local");
        collected.await.unwrap()
    };
    let (first, again) = (collect().await, collect().await);
    assert_eq!((first.added, again.added, again.known), (1, 0, 1));
    let last = fixture.recorded.entries.lock().unwrap().pop().unwrap();
    assert_eq!(last.bodies[0].kind, BodyKind::Pair);
    let stored = format!(
        "{} {:?}",
        String::from_utf8_lossy(&last.bodies[0].content),
        last.events
    );
    assert!(
        stored.contains("[secret]") && !stored.contains(SECRET),
        "{stored}"
    );
}

#[tokio::test]
async fn notes_of_adjudications_are_redacted() {
    let fixture = redacting().await;
    let items = vec![item("exact", "1", "1")];
    let reply = fixture.engine.grade(batch(items), Mode::Whole);
    let id = reply.await.unwrap().grades().next().unwrap().grade;
    let note = Some(format!("see {SECRET}"));
    let review = review(&fixture);
    let adjudication = review.adjudicate(id, false, note, "local").await.unwrap();
    assert_eq!(adjudication.note.as_deref(), Some("see [secret]"));
}
