//! What of a batch is stored: bodies by policy, and texts without what patterns match. Grades and
//! replies do not change.

use std::sync::Arc;

use assay_core::Completion;
use assay_engine::{BatchItem, BodyPolicy, Keeping, Mode, Redaction, Redactor, Reply};
use assay_record::{BodyKind, Entry, SealedReply};

use crate::fixtures::{Fixture, batch, fixture_keeping, item, keyed, outcomes};

const SECRET: &str = "secret-4711";

fn redacting() -> Keeping {
    let redaction = Redaction {
        name: "secret".to_owned(),
        pattern: r"secret-\d+".to_owned(),
        replacement: "[secret]".to_owned(),
    };
    Keeping {
        bodies: BodyPolicy::All,
        redactor: Redactor::new(&[redaction]).unwrap(),
    }
}

fn keeping(bodies: BodyPolicy) -> Keeping {
    Keeping {
        bodies,
        redactor: Redactor::default(),
    }
}

/// The recorded entries.
fn entries(fixture: &Fixture) -> Vec<Arc<Entry>> {
    fixture.recorded.entries.lock().unwrap().clone()
}

/// All that is recorded, as text.
fn recorded(fixture: &Fixture) -> String {
    let texts = entries(fixture).into_iter().map(|entry| {
        let bodies = entry.bodies.iter();
        let bodies: Vec<_> = bodies
            .map(|body| String::from_utf8_lossy(&body.content).into_owned())
            .collect();
        let reply = entry.claim.as_ref().and_then(|claim| claim.reply.as_ref());
        let reply = reply.map(|reply| String::from_utf8_lossy(&reply.body).into_owned());
        format!("{:?} {bodies:?} {:?} {reply:?}", entry.grades, entry.events)
    });
    texts.collect::<Vec<_>>().join("\n")
}

async fn grade(fixture: &Fixture, items: Vec<BatchItem>) -> Reply {
    let graded = fixture.engine.grade(batch(items), Mode::Whole).await;
    graded.unwrap()
}

/// An item with the secret in every text.
fn secret_item() -> BatchItem {
    let mut secret = item("exact", SECRET, SECRET);
    secret.item.prompt = Some(Completion::Text(format!("say {SECRET}").into()));
    secret.item.meta = serde_json::from_str(&format!(r#"{{"note":"from {SECRET}"}}"#)).unwrap();
    secret
        .checks
        .push(("again".to_owned(), secret.task.clone()));
    secret
}

#[tokio::test]
async fn nothing_that_a_pattern_matches_is_stored() {
    let fixture = fixture_keeping(redacting()).await;
    let wrong = item("exact", "1", SECRET);
    let failing = item("exact", "1", "fail");
    let reply = grade(&fixture, vec![secret_item(), wrong, failing]).await;
    // The original is graded: the redacted texts would be equal too, but the last would not pass.
    assert_eq!(
        outcomes(&reply)[..2],
        ["correct".to_owned(), "wrong_answer".to_owned()]
    );
    let stored = recorded(&fixture);
    assert!(!stored.contains(SECRET), "{stored}");
    assert_eq!(stored.matches("say [secret]").count(), 1);
    let entry = &entries(&fixture)[0];
    let marks: Vec<bool> = entry
        .grades
        .iter()
        .map(|grade| grade.row.source.redacted)
        .collect();
    assert_eq!(marks, [true, true, false]);
    assert_eq!(
        entry.grades[0].stored().unwrap().source.meta.unwrap().get(),
        r#"{"note":"from [secret]"}"#
    );
    for body in &entry.bodies {
        assert_eq!(body.kind.hash(&body.content), body.hash);
    }
    // Different texts may become equal, and are stored once.
    assert_eq!(
        entry.grades[0].row.source.completion_hash,
        entry.grades[1].row.source.completion_hash
    );
    let hash = entry.grades[0].row.source.completion_hash;
    assert_eq!(
        entry.bodies.iter().filter(|body| body.hash == hash).count(),
        1
    );
}

#[tokio::test]
async fn redacts_stored_replies_pairs_and_notes() {
    let fixture = fixture_keeping(redacting()).await;
    let mut request = keyed("key", "body");
    request.render = Arc::new(|_| SealedReply {
        media: "application/json".to_owned(),
        body: format!(r#"{{"id":"{SECRET}","evidence":{{"id":"{SECRET}"}}}}"#).into_bytes(),
    });
    let answer = fixture
        .engine
        .grade_once(request, batch(vec![item("exact", "1", "1")]), Mode::Whole)
        .await
        .unwrap();
    let assay_engine::Answer::Fresh(_, Some(sent)) = answer else {
        panic!("the request is new");
    };
    assert!(String::from_utf8(sent.body).unwrap().contains(SECRET));
    let claim = entries(&fixture)
        .into_iter()
        .find_map(|entry| entry.claim.clone());
    let stored = String::from_utf8(claim.unwrap().reply.unwrap().body).unwrap();
    // Ids are kept, except in evidence.
    assert_eq!(
        stored,
        format!(r#"{{"id":"{SECRET}","evidence":{{"id":"[secret]"}}}}"#)
    );
}

#[tokio::test]
async fn stores_bodies_by_policy() {
    let items = || {
        vec![
            item("exact", "1", "1"),
            item("exact", "1", "2"),
            item("exact", "1", "fail"),
        ]
    };
    for (policy, kept) in [
        (BodyPolicy::All, [true, true, true]),
        (BodyPolicy::Failures, [false, true, true]),
        (BodyPolicy::Sample(0.0), [false, false, false]),
        (BodyPolicy::Sample(1.0), [true, true, true]),
        (BodyPolicy::None, [false, false, false]),
    ] {
        let fixture = fixture_keeping(keeping(policy)).await;
        let reply = grade(&fixture, items()).await;
        assert_eq!(outcomes(&reply)[..2], ["correct", "wrong_answer"]);
        let entry = &entries(&fixture)[0];
        let omitted: Vec<bool> = entry
            .grades
            .iter()
            .map(|grade| grade.row.source.bodies_omitted)
            .collect();
        assert_eq!(omitted, kept.map(|kept| !kept), "{policy:?}");
        for (grade, kept) in entry.grades.iter().zip(kept) {
            let has = entry
                .bodies
                .iter()
                .any(|body| body.hash == grade.row.source.completion_hash);
            assert_eq!(has, kept, "{policy:?}");
        }
        let has_task = entry.bodies.iter().any(|body| body.kind == BodyKind::Task);
        assert_eq!(has_task, kept.contains(&true), "{policy:?}");
    }
}
