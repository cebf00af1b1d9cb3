//! Logs and their replay.

use std::sync::Arc;

use assay_core::{
    GradeContext, Grader as _, GraderTable, Hash, Item, Outcome, PrepareContext, Task,
};
use assay_sessions::{SessionError, SessionGrader, Settings};
use assay_wire::sessions::{DifferingField, SessionLog, SessionReplay};
use serde_json::json;

use crate::fixture::{Fixture, code, opening, sender, with};

/// A log with calls of every kind.
async fn log(fixture: &Fixture) -> SessionLog {
    let mut request = opening();
    let file = assay_wire::sessions::FileContent::Text("1".to_owned());
    request.files.insert("a".to_owned(), file.clone());
    let id = fixture.sessions.create(&sender("a"), request).await;
    let id = id.unwrap().id;
    for text in ["a", "loop", "raise x"] {
        fixture.run(&id, text).await;
    }
    let mut call = code("b");
    call.files.insert("b".to_owned(), file);
    call.fetch = vec!["state".to_owned()];
    fixture.sessions.run(&sender("a"), &id, call).await.unwrap();
    fixture.sessions.log(&sender("a"), &id).await.unwrap()
}

async fn replay(fixture: &Fixture, log: &SessionLog) -> SessionReplay {
    let replayed = fixture.sessions.replay(&sender("b"), log.clone()).await;
    replayed.unwrap()
}

#[tokio::test]
async fn a_log_runs_again_with_the_same_outputs() {
    let log = log(&with(Settings::default())).await;
    let json = serde_json::to_string(&log).unwrap();
    let read: SessionLog = serde_json::from_str(&json).unwrap();
    assert_eq!(read, log);
    let other = with(Settings::default());
    let replayed = replay(&other, &read).await;
    assert!(replayed.equal && replayed.same_image, "{replayed:?}");
    assert_eq!(replayed.calls, 4);
    assert_eq!(other.sessions.list(&sender("b"), None, 10), []);
}

#[tokio::test]
async fn the_first_difference_is_reported() {
    let fixture = with(Settings::default());
    let original = log(&fixture).await;
    let difference = |change: fn(&mut SessionLog)| {
        let mut changed = original.clone();
        change(&mut changed);
        let fixture = &fixture;
        async move {
            let replayed = replay(fixture, &changed).await;
            assert!(!replayed.equal);
            let found = replayed.difference.unwrap();
            (found.call, found.field)
        }
    };
    assert_eq!(
        difference(|log| log.calls[3].code.push('x')).await,
        (4, DifferingField::CodeHash)
    );
    // The value of the last call shows the state.
    let changed = difference(|log| {
        log.calls[0].code = "c".to_owned();
        log.calls[0].code_hash = Hash::of(b"c");
    });
    assert_eq!(changed.await, (1, DifferingField::OutputHash));
    assert_eq!(
        difference(|log| log.calls[1].outcome = log.calls[0].outcome).await,
        (2, DifferingField::Outcome)
    );
    assert_eq!(
        difference(|log| log.calls[1].kept = true).await,
        (2, DifferingField::Kept)
    );
    assert_eq!(
        difference(|log| log.calls[2].work -= 1).await,
        (3, DifferingField::Work)
    );
    let mut elsewhere = original.clone();
    elsewhere.image_hash = "2".to_owned();
    elsewhere.calls[2].work -= 1;
    let replayed = replay(&fixture, &elsewhere).await;
    assert!(replayed.equal && !replayed.same_image, "{replayed:?}");
}

#[tokio::test]
async fn logs_that_no_session_can_have_are_rejected() {
    let fixture = with(Settings::default());
    let original = log(&fixture).await;
    let pointer = |change: fn(&mut SessionLog)| {
        let mut changed = original.clone();
        change(&mut changed);
        let fixture = &fixture;
        async move {
            match fixture.sessions.replay(&sender("b"), changed).await {
                Err(SessionError::Invalid { pointer, .. }) => pointer,
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(pointer(|log| log.calls[1].call = 1).await, "/calls/1/call");
    assert_eq!(
        pointer(|log| log.calls[1].work_limit *= 2).await,
        "/calls/1/work_limit"
    );
    assert_eq!(
        pointer(|log| log.calls[1].output_limit *= 2).await,
        "/calls/1/output_limit"
    );
    assert_eq!(
        pointer(|log| log.limits.memory_mb = 1 << 40).await,
        "/limits/memory_mb"
    );
    assert_eq!(
        pointer(|log| log.language = "cobol".to_owned()).await,
        "/language"
    );
}

/// The outcome of a log as a task, or the pointer and message of what is wrong with it.
async fn graded(fixture: &Fixture, log: &SessionLog) -> Result<Outcome, (String, String)> {
    let mut task = serde_json::to_value(log).unwrap();
    task["type"] = json!("session");
    let task = Task::from_raw(&serde_json::value::to_raw_value(&task).unwrap()).unwrap();
    let grader = SessionGrader::new(Arc::clone(&fixture.interpreters) as _, 64 << 20, 1);
    let table = GraderTable::new(Vec::new());
    let context = PrepareContext::new(&table);
    let checked = grader.check(&task, &context);
    checked.map_err(|error| (error.pointer, error.message))?;
    let prepared = grader.prepare(&task, &context).unwrap();
    let mut outcomes = prepared
        .grade(&[&Item::text("")], &GradeContext::default())
        .await;
    Ok(outcomes.remove(0))
}

#[tokio::test]
async fn a_log_is_graded_by_what_its_calls_return() {
    let fixture = with(Settings::default());
    let original = log(&fixture).await;
    let outcome = graded(&fixture, &original).await.unwrap();
    let grade = outcome.grade().unwrap();
    assert_eq!(
        (grade.verdict.as_str(), grade.score.get()),
        ("replayed", 1.0)
    );
    let measures: Vec<_> = grade
        .measures
        .iter()
        .map(|(name, value)| (*name, value.get()))
        .collect();
    // The call that loops uses its ten seconds, and each other one a tenth.
    assert_eq!(
        measures,
        [("calls", 4.0), ("failed_calls", 2.0), ("seconds", 10.3)]
    );
    let steps: Vec<f64> = grade.steps.iter().map(|step| step.score.get()).collect();
    assert_eq!(steps, [1.0, 0.0, 0.0, 1.0]);

    let mut changed = original.clone();
    changed.calls[2].output_hash = Hash::of(b"another");
    let outcome = graded(&fixture, &changed).await.unwrap();
    let grade = outcome.grade().unwrap();
    assert_eq!(
        (grade.verdict.as_str(), grade.score.get()),
        ("differs", 0.0)
    );
    assert!(grade.steps.is_empty());
    assert_eq!(grade.measures["calls"].get(), 4.0);
    let difference = &grade.evidence.facts()["difference"];
    assert_eq!(
        (&difference["call"], &difference["field"]),
        (&json!(3), &json!("output_hash"))
    );

    // Nobody is at fault if another version of the image returns something else.
    changed.image_hash = "2".to_owned();
    let outcome = graded(&fixture, &changed).await.unwrap();
    assert_eq!(outcome.as_str(), "ungradable");
    let message = &outcome.fault().unwrap().message;
    assert!(
        message.starts_with("call 3 returns something else"),
        "{message}"
    );
}

#[tokio::test]
async fn a_log_that_cannot_run_has_no_score() {
    let fixture = with(Settings::default());
    let original = log(&fixture).await;
    let with_code = |code: &str| {
        let mut changed = original.clone();
        changed.calls[0].code = code.to_owned();
        changed.calls[0].code_hash = Hash::of(code.as_bytes());
        changed
    };
    let outcome = graded(&fixture, &with_code("fail")).await.unwrap();
    assert_eq!(outcome.as_str(), "failed");
    assert!(outcome.fault().unwrap().retryable);
    let mut changed = with_code("a");
    changed.calls[1].files = json_files("folder");
    let outcome = graded(&fixture, &changed).await.unwrap();
    assert_eq!(outcome.as_str(), "ungradable");
    changed.calls[1].files = json_files("..");
    let error = graded(&fixture, &changed).await.unwrap_err();
    assert_eq!(error.0, "/calls/1/files/..");
}

fn json_files(path: &str) -> assay_wire::sessions::Files {
    serde_json::from_value(json!({ path: "" })).unwrap()
}

#[tokio::test]
async fn what_a_node_keeps_is_not_a_difference() {
    let fixture = with(Settings::default());
    let mut changed = log(&fixture).await;
    changed.calls[0].outcome = assay_wire::sessions::CallOutcome::TooLarge;
    let outcome = graded(&fixture, &changed).await.unwrap();
    assert_eq!(outcome.as_str(), "ungradable");
    let message = &outcome.fault().unwrap().message;
    assert!(message.contains("`sessions.state_bytes`"), "{message}");
}
