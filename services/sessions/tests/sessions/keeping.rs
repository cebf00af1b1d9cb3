//! Quotas, expiry, the budget of memory, and sessions that outlive their process.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use assay_core::{ErrorCode, Ids, SystemClock};
use assay_sessions::{OpenError, Sessions, Settings};
use assay_wire::sessions::{Restored, SessionState};

use crate::fixture::{Fixture, in_folder, sender, with};

#[tokio::test]
async fn open_sessions_are_limited_by_caller_and_in_all() {
    let fixture = with(Settings {
        per_caller: 2,
        open: 3,
        ..Settings::default()
    });
    let id = fixture.open().await;
    fixture.open().await;
    let own = fixture.open_by("a").await.unwrap_err();
    assert_eq!(own.code(), ErrorCode::QuotaExceeded);
    assert!(own.to_string().contains("sessions.per_caller"), "{own}");
    let fork = fixture.sessions.fork(&sender("a"), &id, 1).await;
    assert_eq!(fork.unwrap_err(), own);
    fixture.open_by("b").await.unwrap();
    let all = fixture.open_by("b").await.unwrap_err();
    assert!(all.to_string().contains("sessions.open"), "{all}");
    fixture.sessions.end(&sender("a"), &id).unwrap();
    fixture.open_by("b").await.unwrap();
}

#[tokio::test]
async fn idle_sessions_expire() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = in_folder(folder.path());
    let (used, idle) = (fixture.open().await, fixture.open().await);
    assert_eq!(fixture.body(&used).expires_us, 3_600_000_000);
    fixture.run(&idle, "a").await;
    let at = |seconds| fixture.clock.0.store(seconds, Ordering::Relaxed);
    at(3_599);
    assert_eq!(fixture.sessions.expire(), 0);
    fixture.run(&used, "b").await;
    at(3_600);
    assert_eq!(fixture.sessions.expire(), 1);
    assert!(fixture.try_run(&idle, "a").await.is_err());
    assert_eq!(fixture.value(&used, "c").await, "bc");
    assert_eq!(files(folder.path(), "states"), 1);
}

fn files(folder: &Path, name: &str) -> usize {
    fs::read_dir(folder.join(name)).unwrap().count()
}

#[tokio::test]
async fn states_beyond_the_budget_answer_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = with(Settings {
        folder: Some(folder.path().to_owned()),
        memory_bytes: 2_500,
        ..Settings::default()
    });
    let mut ids = Vec::new();
    for number in 0..10 {
        let id = fixture.open().await;
        fixture.run(&id, &number.to_string()).await;
        fixture.run(&id, "fill 1000").await;
        ids.push(id);
    }
    let states = ids.iter().map(|id| fixture.body(id).state);
    let in_memory = states.filter(|state| *state == SessionState::Memory);
    assert_eq!(in_memory.count(), 2);
    for (number, id) in ids.iter().enumerate() {
        let value = fixture.value(id, "end").await;
        assert!(value.starts_with(&number.to_string()) && value.ends_with("xend"));
    }
    assert_eq!(files(folder.path(), "states"), 10);
}

#[tokio::test]
async fn calls_that_leave_more_than_the_disk_may_have_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = with(Settings {
        folder: Some(folder.path().to_owned()),
        disk_bytes: 2_000,
        ..Settings::default()
    });
    let id = fixture.open().await;
    fixture.run(&id, "fill 1500").await;
    let other = fixture.open().await;
    let error = fixture.try_run(&other, "fill 1000").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::QuotaExceeded);
    assert_eq!(fixture.body(&other).calls, 0);
    assert_eq!(fixture.run(&other, "a").await.call, 1);
}

/// Sessions after a restart of the process.
fn restart(fixture: Fixture, folder: &Path) -> Fixture {
    drop(fixture);
    in_folder(folder)
}

#[tokio::test]
async fn sessions_outlive_their_process() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = in_folder(folder.path());
    let id = fixture.open().await;
    fixture.run(&id, "a").await;
    fixture.run(&id, "loop").await;
    let new = fixture.open().await;
    let before = fixture.body(&id);
    let fixture = restart(fixture, folder.path());
    let after = fixture.body(&id);
    assert_eq!(after.restored, Some(Restored::Frozen));
    assert_eq!(after.state, SessionState::Disk);
    assert_eq!(after.remaining, before.remaining);
    assert_eq!(fixture.body(&new).state, SessionState::New);
    let reply = fixture.run(&id, "b").await;
    assert_eq!((reply.call, reply.value.as_deref()), (3, Some("ab")));
    assert_eq!(reply.restored, Some(Restored::Frozen));
    assert_eq!(fixture.interpreters.calls.load(Ordering::Relaxed), 1);
    assert_eq!(fixture.run(&id, "c").await.restored, None);
    assert_eq!(fixture.run(&new, "d").await.restored, None);
}

#[tokio::test]
async fn a_missing_or_damaged_state_is_restored_by_running_the_calls_again() {
    for damage in ["missing", "damaged"] {
        let folder = tempfile::tempdir().unwrap();
        let fixture = in_folder(folder.path());
        let id = fixture.open().await;
        for code in ["a", "loop", "b"] {
            fixture.run(&id, code).await;
        }
        let fork = fixture.sessions.fork(&sender("a"), &id, 1).await.unwrap();
        let fork = fork[0].id.clone();
        drop(fixture);
        for file in fs::read_dir(folder.path().join("states")).unwrap() {
            let path = file.unwrap().path();
            match damage {
                "missing" => fs::remove_file(path).unwrap(),
                _ => fs::write(path, "damaged").unwrap(),
            }
        }
        let fixture = in_folder(folder.path());
        let reply = fixture.run(&id, "c").await;
        assert_eq!(reply.value.as_deref(), Some("abc"), "{damage}");
        assert_eq!(reply.restored, Some(Restored::Replayed), "{damage}");
        // The call without an effect does not run again.
        assert_eq!(fixture.interpreters.calls.load(Ordering::Relaxed), 3);
        assert_eq!(reply.call, 4);
        assert_eq!(fixture.value(&fork, "d").await, "abd", "{damage}");
        let fixture = restart(fixture, folder.path());
        let reply = fixture.run(&id, "e").await;
        assert_eq!(reply.restored, Some(Restored::Frozen));
        assert_eq!(reply.value.as_deref(), Some("abce"));
    }
}

#[tokio::test]
async fn a_session_with_other_outputs_when_it_runs_again_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = in_folder(folder.path());
    let id = fixture.open().await;
    fixture.run(&id, "a").await;
    fixture.run(&id, "unstable state").await;
    fixture.run(&id, "b").await;
    drop(fixture);
    fs::remove_dir_all(folder.path().join("states")).unwrap();
    let fixture = in_folder(folder.path());
    // The number of the call in its process is part of the state.
    fixture.interpreters.calls.store(7, Ordering::Relaxed);
    let error = fixture.try_run(&id, "c").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::SessionLost);
    assert!(error.to_string().contains("call 3"), "{error}");
    assert_eq!(fixture.body(&id).state, SessionState::Lost);
    let again = fixture.try_run(&id, "c").await.unwrap_err();
    assert_eq!(again, error);
}

#[tokio::test]
async fn another_image_runs_the_calls_again() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = in_folder(folder.path());
    let id = fixture.open().await;
    fixture.run(&id, "a").await;
    *fixture.interpreters.image_hash.lock().unwrap() = "2".to_owned();
    let reply = fixture.run(&id, "b").await;
    assert_eq!(reply.restored, Some(Restored::Replayed));
    assert_eq!(fixture.body(&id).image_hash, "2");
    assert_eq!(fixture.run(&id, "c").await.restored, None);
    drop(fixture);
    let fixture = in_folder(folder.path());
    assert_eq!(fixture.body(&id).image_hash, "2");
    assert_eq!(fixture.value(&id, "d").await, "abcd");
}

#[tokio::test]
async fn damaged_journals_are_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = in_folder(folder.path());
    let (good, bad) = (fixture.open().await, fixture.open().await);
    fixture.run(&good, "a").await;
    fixture.run(&bad, "b").await;
    drop(fixture);
    let journal = |id: &str| folder.path().join("journals").join(format!("{id}.jsonl"));
    let text = fs::read_to_string(journal(&bad)).unwrap();
    fs::write(journal(&bad), text.replace("\"called\"", "\"colled\"")).unwrap();
    let fixture = in_folder(folder.path());
    assert!(fixture.try_run(&bad, "c").await.is_err());
    assert!(journal(&bad).with_extension("damaged").exists());
    assert_eq!(fixture.value(&good, "c").await, "ac");
    assert_eq!(files(folder.path(), "states"), 1);
}

#[tokio::test]
async fn one_process_at_a_time_has_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = in_folder(folder.path());
    let settings = Settings {
        folder: Some(folder.path().to_owned()),
        ..Settings::default()
    };
    let again = Sessions::open(
        settings,
        fixture.interpreters,
        std::sync::Arc::new(SystemClock::new()),
        Ids::random(),
    );
    assert!(matches!(again, Err(OpenError::InUse(_))));
}

#[tokio::test]
async fn lists_have_pages() {
    let fixture = with(Settings::default());
    let mut ids = Vec::new();
    for second in 0..5 {
        fixture.clock.0.store(second, Ordering::Relaxed);
        ids.push(fixture.open().await);
    }
    let page = fixture.sessions.list(&sender("a"), None, 2);
    let page: Vec<_> = page.into_iter().map(|body| body.id).collect();
    assert_eq!(page, ids[..2]);
    let after = page[1].parse().unwrap();
    let rest = fixture.sessions.list(&sender("a"), Some(after), 10);
    let rest: Vec<_> = rest.into_iter().map(|body| body.id).collect();
    assert_eq!(rest, ids[2..]);
}
