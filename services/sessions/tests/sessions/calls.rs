//! Calls: what one leaves, the next finds, and nobody else does.

use std::sync::atomic::Ordering;

use assay_core::ErrorCode;
use assay_sessions::{SessionError, Settings};
use assay_wire::sessions::{CallOutcome, FileContent, SessionState};
use serde_json::json;

use crate::fixture::{code, opening, sender, with};

#[tokio::test]
async fn a_call_continues_from_what_the_last_one_left() {
    let fixture = with(Settings::default());
    let (first, second) = (fixture.open().await, fixture.open().await);
    assert_eq!(fixture.body(&first).state, SessionState::New);
    assert_eq!(fixture.value(&first, "a").await, "a");
    assert_eq!(fixture.value(&second, "b").await, "b");
    let reply = fixture.run(&first, "c").await;
    assert_eq!(reply.value.as_deref(), Some("ac"));
    assert_eq!((reply.call, reply.kept, reply.restored), (2, true, None));
    assert_eq!((reply.seconds, reply.remaining.seconds), (0.1, 599.8));
    let same = fixture.open().await;
    fixture.run(&same, "a").await;
    assert_eq!(fixture.run(&same, "c").await.output_hash, reply.output_hash);
    assert_eq!(fixture.body(&first).state, SessionState::Memory);
}

#[tokio::test]
async fn a_call_beyond_a_limit_has_no_effect() {
    let fixture = with(Settings {
        state_bytes: 100,
        ..Settings::default()
    });
    let id = fixture.open().await;
    fixture.run(&id, "a").await;
    let reply = fixture.run(&id, "loop").await;
    assert_eq!((reply.outcome, reply.kept), (CallOutcome::OutOfWork, false));
    let reply = fixture.run(&id, "fill 100").await;
    assert_eq!((reply.outcome, reply.kept), (CallOutcome::TooLarge, false));
    assert_eq!(fixture.value(&id, "b").await, "ab");
    let reply = fixture.run(&id, "raise x").await;
    assert_eq!((reply.outcome, reply.kept), (CallOutcome::Exception, true));
    assert_eq!(reply.exception.unwrap().message, "x");
}

#[tokio::test]
async fn a_failed_call_changes_nothing() {
    let fixture = with(Settings::default());
    let id = fixture.open().await;
    fixture.run(&id, "a").await;
    let before = fixture.body(&id);
    let error = fixture.try_run(&id, "fail").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CallFailed);
    assert!(error.to_string().contains("a worker died"), "{error}");
    assert_eq!(fixture.body(&id), before);
    assert_eq!(fixture.run(&id, "b").await.call, 2);
}

#[tokio::test]
async fn budgets_end_a_session() {
    let fixture = with(Settings::default());
    let mut request = opening();
    request.limits.calls = 2;
    request.limits.total_seconds = 1.0;
    let id = fixture
        .sessions
        .create(&sender("a"), request)
        .await
        .unwrap();
    let reply = fixture.run(&id.id, "a").await;
    assert_eq!((reply.remaining.calls, reply.remaining.seconds), (1, 0.9));
    // It gets what is left.
    assert_eq!(fixture.run(&id.id, "loop").await.seconds, 0.9);
    let error = fixture.try_run(&id.id, "b").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::SessionExhausted);
    assert!(error.to_string().contains("`calls`"), "{error}");
}

#[tokio::test]
async fn files_go_in_and_out() {
    let fixture = with(Settings::default());
    let mut request = opening();
    let text = |text: &str| FileContent::Text(text.to_owned());
    request.files.insert("first".to_owned(), text("1"));
    let id = fixture
        .sessions
        .create(&sender("a"), request)
        .await
        .unwrap();
    let file = |path: &'static str| {
        let sessions = fixture.sessions.clone();
        let id = id.id.clone();
        async move { sessions.file(&sender("a"), &id, path).await }
    };
    assert_eq!(file("state").await.unwrap(), b"first=1;");
    // A call without an effect does not use up the files of the session.
    fixture.run(&id.id, "loop").await;
    let mut call = code("x");
    call.files.insert("second".to_owned(), text("2"));
    call.fetch = vec!["state".to_owned(), "missing".to_owned()];
    let reply = fixture.sessions.run(&sender("a"), &id.id, call).await;
    let files = reply.unwrap().files;
    let expected = json!({ "state": "first=1;second=2;x" });
    assert_eq!(serde_json::to_value(files).unwrap(), expected);
    let before = fixture.body(&id.id);
    assert_eq!(file("state").await.unwrap(), b"first=1;second=2;x");
    assert_eq!(fixture.body(&id.id), before);
    assert_eq!(
        file("missing").await.unwrap_err().code(),
        ErrorCode::NotFound
    );
    assert!(matches!(
        file("../x").await,
        Err(SessionError::Invalid { .. })
    ));
}

#[tokio::test]
async fn requests_are_checked_with_the_place_of_the_error() {
    let fixture = with(Settings::default());
    let id = fixture.open().await;
    let pointer = |error: SessionError| match error {
        SessionError::Invalid { pointer, .. } => pointer,
        other => panic!("{other:?}"),
    };
    let mut request = opening();
    request.language = "cobol".to_owned();
    let error = fixture.sessions.create(&sender("a"), request).await;
    assert_eq!(pointer(error.unwrap_err()), "/language");
    let mut request = opening();
    request.idle_seconds = Some(3_601);
    let error = fixture.sessions.create(&sender("a"), request).await;
    assert_eq!(pointer(error.unwrap_err()), "/idle_seconds");
    let mut call = code("x");
    call.seconds = Some(-1.0);
    let error = fixture.sessions.run(&sender("a"), &id, call).await;
    assert_eq!(pointer(error.unwrap_err()), "/seconds");
    let mut call = code("x");
    let file = FileContent::Text(String::new());
    call.files.insert("folder".to_owned(), file);
    let error = fixture.sessions.run(&sender("a"), &id, call).await;
    assert_eq!(pointer(error.unwrap_err()), "/files");
    assert_eq!(fixture.body(&id).calls, 0);
}

#[tokio::test]
async fn callers_do_not_see_the_sessions_of_others() {
    let fixture = with(Settings::default());
    let id = fixture.open().await;
    let other = sender("b");
    let sessions = &fixture.sessions;
    let unknown = |error: SessionError| assert_eq!(error.code(), ErrorCode::NotFound);
    unknown(sessions.describe(&other, &id).unwrap_err());
    unknown(sessions.run(&other, &id, code("x")).await.unwrap_err());
    unknown(sessions.fork(&other, &id, 1).await.unwrap_err());
    unknown(sessions.file(&other, &id, "x").await.unwrap_err());
    unknown(sessions.log(&other, &id).await.unwrap_err());
    unknown(sessions.end(&other, &id).unwrap_err());
    assert_eq!(sessions.list(&other, None, 10), []);
    let mut operator = sender("operator");
    operator.sees_all = true;
    assert_eq!(sessions.list(&operator, None, 10).len(), 1);
    assert_eq!(sessions.describe(&operator, &id).unwrap().caller, "a");
    sessions.end(&operator, &id).unwrap();
    unknown(fixture.try_run(&id, "x").await.unwrap_err());
}

#[tokio::test]
async fn forks_share_the_state_and_do_not_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = crate::fixture::in_folder(folder.path());
    let id = fixture.open().await;
    fixture.run(&id, "a").await;
    let forks = fixture.sessions.fork(&sender("a"), &id, 2).await.unwrap();
    let states = || {
        std::fs::read_dir(folder.path().join("states"))
            .unwrap()
            .count()
    };
    assert_eq!(states(), 1);
    let [one, two] = [&forks[0].id, &forks[1].id];
    assert_eq!(forks[0].forked_from.as_ref(), Some(&id));
    assert_eq!(forks[0].calls, 1);
    assert_eq!(fixture.value(one, "b").await, "ab");
    assert_eq!(fixture.value(two, "c").await, "ac");
    fixture.sessions.end(&sender("a"), &id).unwrap();
    assert_eq!(fixture.run(one, "d").await.value.unwrap(), "abd");
    assert_eq!(states(), 2);
    let log = fixture.sessions.log(&sender("a"), one).await.unwrap();
    let codes: Vec<_> = log.calls.iter().map(|call| call.code.as_str()).collect();
    assert_eq!(codes, ["a", "b", "d"]);
    let error = fixture.sessions.fork(&sender("a"), one, 0).await;
    assert!(matches!(error, Err(SessionError::Invalid { .. })));
}

#[tokio::test]
async fn calls_of_a_session_run_in_order_and_wait_for_each_other() {
    let fixture = with(Settings::default());
    let id = fixture.open().await;
    let (waits, next) = (fixture.try_run(&id, "wait"), fixture.try_run(&id, "a"));
    let open = async {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(fixture.body(&id).calls, 0);
        fixture.interpreters.gate.add_permits(1);
    };
    let (waits, next, ()) = tokio::join!(waits, next, open);
    assert_eq!(waits.unwrap().call, 1);
    assert_eq!(next.unwrap().value.unwrap(), "waita");
}

#[tokio::test]
async fn too_many_waiting_calls_of_a_session_are_rejected() {
    let fixture = with(Settings::default());
    let id = fixture.open().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (sessions, id) = (fixture.sessions.clone(), id.clone());
        calls.spawn(async move { sessions.run(&sender("a"), &id, code("wait")).await });
    }
    // The runtime polls this task again before it has polled all others once.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let error = fixture.try_run(&id, "a").await.unwrap_err();
    assert_eq!(error, SessionError::Crowded(64));
    fixture.interpreters.gate.add_permits(64);
    while let Some(call) = calls.join_next().await {
        call.unwrap().unwrap();
    }
    assert_eq!(fixture.run(&id, "a").await.call, 65);
}

#[tokio::test]
async fn a_session_that_ends_during_a_call_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = crate::fixture::in_folder(folder.path());
    let id = fixture.open().await;
    fixture.run(&id, "a").await;
    let end = async {
        while fixture.interpreters.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        fixture.sessions.end(&sender("a"), &id).unwrap();
        fixture.interpreters.gate.add_permits(1);
    };
    let (waits, ()) = tokio::join!(fixture.try_run(&id, "wait"), end);
    assert_eq!(waits.unwrap_err().code(), ErrorCode::NotFound);
    // It ends before the journal is read.
    let id = fixture.open().await;
    let end = async { fixture.sessions.end(&sender("a"), &id) };
    let (early, ended) = tokio::join!(fixture.try_run(&id, "b"), end);
    ended.unwrap();
    assert_eq!(early.unwrap_err().code(), ErrorCode::NotFound);
    for name in ["states", "journals"] {
        let left = std::fs::read_dir(folder.path().join(name)).unwrap();
        assert_eq!(left.count(), 0, "{name}");
    }
}
