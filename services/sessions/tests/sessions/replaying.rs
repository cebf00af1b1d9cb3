//! Logs and their replay.

use assay_core::Hash;
use assay_sessions::{SessionError, Settings};
use assay_wire::sessions::{DifferingField, SessionLog, SessionReplay};

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
