//! Replays of recorded grades.

use assay_core::Completion;
use assay_engine::{BodyPolicy, Keeping, Mode, Redactor};
use assay_review::replay::ReplayError;

use crate::fixtures::{batch, fixture, fixture_keeping, item};
use crate::review;

#[tokio::test]
async fn a_recorded_item_is_graded_again() {
    let fixture = fixture().await;
    let mut first = item("exact", "1", "1");
    first.item.prompt = Some(Completion::Text("one?".into()));
    first.checks.push(("again".to_owned(), first.task.clone()));
    let items = vec![first, item("exact", "1", "2")];
    let reply = fixture.engine.grade(batch(items), Mode::Whole);
    let reply = reply.await.unwrap();
    for (grade, verdict) in reply.grades().zip(["correct", "wrong_answer"]) {
        let replay = review(&fixture).replay(grade.grade).await.unwrap();
        assert!(!replay.flipped());
        assert_eq!(replay.replayed.verdict.as_deref(), Some(verdict));
    }
    assert_eq!(
        fixture.recorded.grades().len(),
        2,
        "a replay records no row"
    );
}

#[tokio::test]
async fn a_replay_says_that_bodies_were_not_stored() {
    let fixture = fixture_keeping(Keeping {
        bodies: BodyPolicy::None,
        redactor: Redactor::default(),
    })
    .await;
    let items = vec![item("exact", "1", "1")];
    let reply = fixture.engine.grade(batch(items), Mode::Whole);
    let id = reply.await.unwrap().grades().next().unwrap().grade;
    let error = review(&fixture).replay(id).await.unwrap_err();
    assert!(matches!(error, ReplayError::BodyOmitted { what: "task" }));
    assert!(error.to_string().contains("`retention.bodies`"), "{error}");
    assert_eq!(error.code().status(), 404);
}
