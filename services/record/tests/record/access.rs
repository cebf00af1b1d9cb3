//! Keys of callers, the audit log, and reads of one caller.

use assay_record::access::{AccessStore, AuditEntry, KeyError, KeyRecord, KeyUse, Quotas, Role};
use assay_record::storage::{PruneFilter, PruneState};
use assay_record::{GradeFilter, Record};
use serde_json::json;

use crate::fixture::{Fixture, change_all, claim, entry, record};

fn audit(action: &str) -> AuditEntry {
    AuditEntry {
        time_us: 7,
        caller: "test".to_owned(),
        role: Some(Role::Admin),
        action: action.to_owned(),
        target: "alice".to_owned(),
        details: json!({ "n": 1 }),
    }
}

fn key(name: &str) -> KeyRecord {
    KeyRecord {
        id: format!("id-{name}"),
        name: name.to_owned(),
        role: Role::Checker,
        hash: [1; 32],
        previous: None,
        quotas: Quotas {
            items_per_minute: Some(7),
            ..Quotas::default()
        },
        created_us: 1,
        rotated_us: None,
        expires_us: Some(9),
        revoked_us: None,
        last_used_us: None,
        bytes_stored: 0,
    }
}

#[tokio::test]
async fn keys_are_stored_replaced_and_never_deleted() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let access = store.access();
    let first = access.state().await.unwrap();
    assert_ne!(first.secret, [0; 32]);
    access
        .create_key(&key("alice"), &audit("create"))
        .await
        .unwrap();
    assert_eq!(access.keys().await.unwrap(), [key("alice")]);
    let exists = access.create_key(&key("alice"), &audit("create")).await;
    assert!(matches!(exists, Err(KeyError::Exists(name)) if name == "alice"));

    let rotated = KeyRecord {
        hash: [2; 32],
        previous: Some(([1; 32], 5)),
        rotated_us: Some(3),
        ..key("alice")
    };
    access
        .replace_key(&key("alice"), &rotated, &audit("rotate"))
        .await
        .unwrap();
    let stale = access
        .replace_key(&key("alice"), &key("alice"), &audit("change"))
        .await;
    assert!(matches!(stale, Err(KeyError::Changed(name)) if name == "alice"));
    assert_eq!(access.keys().await.unwrap()[0], rotated);
    let changed = access.state().await.unwrap();
    assert_eq!(changed.secret, first.secret);
    assert_ne!(changed.version, first.version);

    let used = KeyUse {
        id: "id-alice".to_owned(),
        last_used_us: 8,
    };
    access.record_use(&[used.clone(), used]).await.unwrap();
    assert_eq!(access.keys().await.unwrap()[0].last_used_us, Some(8));
    // The use of a key does not make nodes read the keys again.
    assert_eq!(access.state().await.unwrap(), changed);

    let revoked = KeyRecord {
        revoked_us: Some(4),
        ..rotated.clone()
    };
    // The key has been used since `rotated` was read, which is not a change.
    access
        .replace_key(&rotated, &revoked, &audit("revoke"))
        .await
        .unwrap();
    let again = access.replace_key(&revoked, &rotated, &audit("set")).await;
    assert!(matches!(again, Err(KeyError::Revoked(_))));
    let (bob, entry) = (key("bob"), audit("revoke"));
    let unknown = access.replace_key(&bob, &bob, &entry).await;
    assert!(matches!(unknown, Err(KeyError::Unknown(_))));
    assert!(fixture.execute("delete from keys").await.is_err());

    let log = access.audit_log(None, 10).await.unwrap();
    let actions: Vec<&str> = log.iter().map(|one| one.entry.action.as_str()).collect();
    assert_eq!(actions, ["revoke", "rotate", "create"]);
}

#[tokio::test]
async fn another_process_changes_keys_while_a_node_runs() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let version = store.access().state().await.unwrap().version;
    let command = assay_record::open_access(&fixture.options.database)
        .await
        .unwrap();
    command
        .create_key(&key("alice"), &audit("create"))
        .await
        .unwrap();
    record(&store, entry(1, 3)).await;
    assert_ne!(store.access().state().await.unwrap().version, version);
    assert_eq!(store.access().keys().await.unwrap().len(), 1);
    command.close().await;
}

#[tokio::test]
async fn the_audit_log_is_append_only() {
    let fixture = Fixture::new();
    let access = fixture.open().await.access();
    for action in ["a", "b", "c"] {
        access.append_audit(&audit(action)).await.unwrap();
    }
    assert!(
        fixture
            .execute("update audit set caller = 'other'")
            .await
            .is_err()
    );
    assert!(fixture.execute("delete from audit").await.is_err());
    let newest = access.audit_log(None, 2).await.unwrap();
    assert_eq!(newest[0].entry, audit("c"));
    let older = access.audit_log(Some(newest[1].no), 2).await.unwrap();
    assert_eq!(older.len(), 1);
    assert_eq!(older[0].entry, audit("a"));
}

/// Bytes of a caller in the report of the storage.
async fn reported(store: &Record, caller: &str) -> u64 {
    let report = store.storage(100).await.unwrap();
    let held = report.holdings.iter().filter(|held| held.caller == caller);
    let replies = report.replies.iter().filter(|held| held.caller == caller);
    held.map(|held| held.grade_bytes + held.body_bytes)
        .chain(replies.map(|held| held.bytes))
        .sum()
}

#[tokio::test]
async fn held_bytes_are_those_of_the_report_and_of_entries_that_are_not_applied_yet() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    store
        .access()
        .create_key(&key("alice"), &audit("create"))
        .await
        .unwrap();
    for (n, run) in ["alice:r", "alice:s"].into_iter().enumerate() {
        record(&store, of_caller(entry(n as u64, 8), "alice", run)).await;
    }
    record(&store, of_caller(entry(2, 8), "bob", "bob:r")).await;
    record(&store, claim("key", 3, Some("the reply"))).await;
    fixture.applied(&store).await;
    let held = store.access().held().await.unwrap();
    let keys = store.access().keys().await.unwrap();
    assert_eq!(keys[0].bytes_stored, held["alice"]);
    assert_eq!(held.len(), 3);
    for caller in ["alice", "bob", "local"] {
        assert_eq!(held[caller], reported(&store, caller).await, "{caller}");
        assert!(held[caller] > 0, "{caller}");
    }

    // Entries that the database does not have yet count with their size in the spool, also after a
    // restart.
    let lock = fixture.lock_database().await;
    record(&store, of_caller(entry(4, 64), "bob", "bob:r")).await;
    let waiting = store.access().held().await.unwrap();
    assert!(waiting["bob"] > held["bob"] + 1_000, "{waiting:?}");
    assert_eq!(waiting["alice"], held["alice"]);
    drop(store);
    drop(lock);
    let store = fixture.open().await;
    assert!(store.access().held().await.unwrap()["bob"] > held["bob"]);
    fixture.applied(&store).await;
    let applied = store.access().held().await.unwrap();
    assert_eq!(applied["bob"], reported(&store, "bob").await);

    let filter = PruneFilter {
        runs: vec!["alice:r".to_owned()],
        ..PruneFilter::default()
    };
    // On a server, the record that was dropped may have its locks for a moment.
    let mut state = PruneState::Failed;
    while state == PruneState::Failed {
        store.prune(filter.clone()).await.unwrap();
        state = PruneState::Running;
        while state == PruneState::Running {
            tokio::task::yield_now().await;
            state = store.storage(1).await.unwrap().prune.unwrap().state;
        }
    }
    let pruned = store.access().held().await.unwrap();
    assert_eq!(pruned["alice"], reported(&store, "alice").await);
    assert!(0 < pruned["alice"] && pruned["alice"] < applied["alice"]);
    assert_eq!(pruned["bob"], applied["bob"]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_key_does_not_inherit_runs_that_look_like_its_own() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_caller(entry(1, 3), "local", "alice:r")).await;
    fixture.applied(&store).await;
    let created = store
        .access()
        .create_key(&key("alice"), &audit("create"))
        .await;
    assert!(matches!(created, Err(KeyError::OwnsRuns(_))));
    store
        .access()
        .create_key(&key("alic"), &audit("create"))
        .await
        .unwrap();
}

/// The entry as one of this caller and run.
fn of_caller(mut entry: assay_record::Entry, caller: &str, run: &str) -> assay_record::Entry {
    entry.caller = caller.into();
    entry.run = Some(run.into());
    change_all(&mut entry, |source, _| {
        source.caller = caller.into();
        source.run = Some(run.into());
    });
    entry
}

#[tokio::test]
async fn lists_by_caller_find_pending_and_stored_entries() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let callers = ["alice", "bob", "local"];
    for pass in 0..2 {
        for (n, caller) in (1..).zip(callers) {
            let run = assay_record::access::recorded_run(caller, "r");
            record(&store, of_caller(entry(10 * pass + n, 4), caller, &run)).await;
        }
        // Once with entries that are in the database, once with pending ones.
        if pass == 0 {
            fixture.applied(&store).await;
        }
    }
    for caller in callers {
        let filter = GradeFilter {
            caller: Some(caller.to_owned()),
            ..GradeFilter::default()
        };
        let page = store.grades(&filter, None, 100).await.unwrap();
        assert_eq!(page.grades.len(), 8, "{caller}");
        assert!(
            page.grades
                .iter()
                .all(|grade| *grade.source.caller == *caller)
        );
    }
    for caller in ["alice", "bob"] {
        let runs = store.seen_by(caller).runs(10).await.unwrap();
        assert_eq!(runs.len(), 1, "{caller}");
        assert_eq!((runs[0].run.as_str(), runs[0].grades), ("r", 8));
    }
    assert_eq!(store.runs(10).await.unwrap().len(), 3);
    assert!(store.seen_by("carol").runs(10).await.unwrap().is_empty());
    assert!(store.seen_by("ali").runs(10).await.unwrap().is_empty());
}
