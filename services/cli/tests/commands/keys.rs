//! `assay keys`: changes of keys, their list, and databases that do not exist.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::fixtures::{assay, assert_fails, command, lines, serve, text};

/// Runs a command with the database of the folder, which exists or is created.
fn local(folder: &Path, arguments: &[&str]) -> Output {
    let output = assay(folder, &on_database(arguments));
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    output
}

fn on_database<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--database", "sqlite://assay.db"]].concat()
}

/// The key as `assay keys show` prints it.
fn shown(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&local(folder, &["keys", "show", name]).stdout).unwrap()
}

/// Rows of a table without its head.
fn rows(output: &Output) -> Vec<String> {
    text(&output.stdout)
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_server_notices_the_new_role_of_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let created = local(folder, &["keys", "create", "alice"]);
    let key = text(&created.stdout).trim().to_owned();
    let (_server, url) = serve(folder);
    let audit = || {
        let arguments = ["audit", "--server", &url, "--key", &key];
        command(folder).args(arguments).output().unwrap()
    };
    let refused = audit();
    assert!(text(&refused.stderr).contains("needs the role `operator`"));
    local(folder, &["keys", "set", "alice", "--role", "operator"]);
    assert!((0..1_000).any(|_| audit().status.success()));
    local(folder, &["keys", "set", "alice", "--role", "trainer"]);
    assert!((0..1_000).any(|_| !audit().status.success()));
}

#[test]
fn a_run_of_a_command_is_not_in_the_namespace_of_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    local(folder, &["keys", "create", "alice"]);
    local(folder, &["keys", "revoke", "alice"]);
    let item = json!({ "completion": "1", "task": { "type": "math", "answer": "1" } });
    std::fs::write(folder.join("items.jsonl"), item.to_string()).unwrap();
    let grade = |run| on_database(&["grade", "items.jsonl", "--run", run]);
    let message = "choose a name that does not start with `alice:`";
    assert_fails(folder, &grade("alice:x"), message);
    let graded = assay(folder, &grade("bob:x"));
    assert!(graded.status.success(), "{}", text(&graded.stderr));
    assert_fails(
        folder,
        &on_database(&["keys", "create", "bob"]),
        "the record has runs whose names start with `bob:`",
    );
}

#[test]
fn changes_only_what_is_named_and_logs_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let create = [
        "keys",
        "create",
        "alice",
        "--items-per-minute",
        "60",
        "--items-in-flight",
        "8",
    ];
    local(folder, &create);
    let before = shown(folder, "alice");
    let set = |options: &[&str]| local(folder, &[&["keys", "set", "alice"], options].concat());

    let quotas = [
        "--items-per-minute",
        "120",
        "--bytes-stored",
        "5",
        "--no-quota",
        "items-in-flight",
    ];
    let printed = rows(&set(&quotas));
    assert_eq!(printed.len(), 1);
    assert!(
        printed[0].starts_with("alice") && printed[0].ends_with("120 items/min, 5 bytes"),
        "{printed:?}"
    );
    let after = shown(folder, "alice");
    let new = json!({
        "items_per_minute": 120, "cpu_seconds_per_minute": null, "items_in_flight": null,
        "bytes_stored": 5,
    });
    assert_eq!(after["quotas"], new);
    let without_quotas = |key: &Value| {
        let mut key = key.clone();
        key["quotas"].take();
        key
    };
    assert_eq!(without_quotas(&after), without_quotas(&before));

    set(&["--role", "checker", "--expires", "90d"]);
    let expires_us = shown(folder, "alice")["expires_us"].as_i64().unwrap();
    let printed = set(&["--no-expiry", "--json"]);
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(printed, shown(folder, "alice"));
    assert_eq!(
        (&printed["role"], &printed["expires_us"]),
        (&json!("checker"), &Value::Null)
    );
    // Nothing changes, so there is no entry.
    set(&["--role", "checker"]);

    let mut log = lines(&local(folder, &["audit", "--json"]).stdout);
    log.reverse();
    let changes = log[1..].iter().map(|entry| {
        assert_eq!(
            (&entry["action"], &entry["target"]),
            (&json!("key.change"), &json!("alice"))
        );
        entry["details"].clone()
    });
    let id = &before["id"];
    let expected = [
        json!({
            "id": id, "items_per_minute": { "from": 60, "to": 120 },
            "items_in_flight": { "from": 8, "to": null },
            "bytes_stored": { "from": null, "to": 5 },
        }),
        json!({
            "id": id, "role": { "from": "trainer", "to": "checker" },
            "expires_us": { "from": null, "to": expires_us },
        }),
        json!({ "id": id, "expires_us": { "from": expires_us, "to": null } }),
    ];
    assert_eq!(changes.collect::<Vec<_>>(), expected);
}

#[test]
fn rejects_changes_that_are_not_possible() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    local(folder, &["keys", "create", "alice"]);
    local(folder, &["keys", "create", "old"]);
    local(folder, &["keys", "revoke", "old"]);
    let before = shown(folder, "alice");
    for (arguments, message) in [
        (&["alice"][..], "nothing to change"),
        (&["bob", "--role", "admin"], "no key is named `bob`"),
        (&["old", "--no-expiry"], "the key `old` was revoked"),
        (&["alice", "--expires", "0s"], "must be longer than 0"),
        (
            &["alice", "--expires", "1d", "--no-expiry"],
            "cannot be used with",
        ),
        (
            &["alice", "--no-quota", "items"],
            "unknown quota `items`; use `items-per-minute`",
        ),
        (
            &["alice", "--bytes-stored", "1", "--no-quota", "bytes-stored"],
            "the quota `bytes_stored` is both set and removed",
        ),
        (
            &["alice", "--items-in-flight", "0"],
            "the quota `items_in_flight` cannot be 0",
        ),
    ] {
        let arguments = [&["keys", "set"], arguments].concat();
        assert_fails(folder, &on_database(&arguments), message);
    }
    assert_eq!(shown(folder, "alice"), before);
    for quota in [
        "items-per-minute",
        "cpu-seconds-per-minute",
        "items-in-flight",
        "bytes-stored",
    ] {
        let option = format!("--{quota}");
        let create = ["keys", "create", "zero", &option, "0"];
        let message = format!("the quota `{}` cannot be 0", quota.replace('-', "_"));
        assert_fails(folder, &on_database(&create), &message);
    }
    assert_eq!(rows(&local(folder, &["keys", "list"])).len(), 2);
}

#[test]
fn lists_expiry_quotas_and_the_end_of_a_grace_period() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let create = [
        "keys",
        "create",
        "alice",
        "--expires",
        "90d",
        "--cpu-seconds-per-minute",
        "30",
        "--items-in-flight",
        "8",
    ];
    local(folder, &create);
    local(folder, &["keys", "create", "bob"]);
    local(folder, &["keys", "rotate", "alice", "--grace", "1h"]);
    local(folder, &["keys", "rotate", "bob"]);

    let seconds = |key: &Value, field: &str| key[field].as_i64().unwrap() / 1_000_000;
    let time = |key: &Value, field: &str| {
        let shown = assay_base::utc::shown(key[field].as_i64().unwrap()).unwrap();
        shown.replace(' ', "T") + "Z"
    };
    let (alice, bob) = (shown(folder, "alice"), shown(folder, "bob"));
    assert_eq!(
        seconds(&alice, "old_until_us"),
        seconds(&alice, "rotated_us") + 3_600
    );
    assert_eq!(bob["old_until_us"], Value::Null);
    let listed = local(folder, &["keys", "list"]);
    let head = text(&listed.stdout).lines().next().unwrap().to_owned();
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>().join(" "),
        "NAME ID ROLE STATE EXPIRES LAST USED BYTES QUOTAS"
    );
    let listed: Vec<String> = rows(&listed)
        .iter()
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let id = |key: &Value| key["id"].as_str().unwrap().to_owned();
    let expected = [
        format!(
            "alice {} trainer valid, old key until {} {} 0 30 CPU s/min, 8 in flight",
            id(&alice),
            time(&alice, "old_until_us"),
            time(&alice, "expires_us")
        ),
        format!("bob {} trainer valid 0", id(&bob)),
    ];
    assert_eq!(listed, expected);

    local(folder, &["keys", "revoke", "alice"]);
    assert_eq!(shown(folder, "alice")["old_until_us"], Value::Null);
}

#[test]
fn only_the_creation_of_a_key_creates_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for url in [
        "sqlite://new.db",
        "sqlite:new.db",
        "sqlite://new.db?mode=rwc",
    ] {
        for arguments in [
            &["audit"][..],
            &["audit", "--json"],
            &["keys"],
            &["keys", "list"],
            &["keys", "show", "alice"],
            &["keys", "rotate", "alice"],
            &["keys", "revoke", "alice"],
            &["keys", "set", "alice", "--role", "admin"],
        ] {
            let arguments = [arguments, &["--database", url]].concat();
            assert_fails(folder, &arguments, "no database at `new.db`");
        }
    }
    let in_memory = ["keys", "create", "alice", "--database", "sqlite::memory:"];
    assert_fails(folder, &in_memory, "keys are stored in a database");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);

    let create = |name| {
        let arguments = ["keys", "create", name, "--database", "sqlite://new.db"];
        let output = assay(folder, &arguments);
        assert!(output.status.success());
        assert_eq!(text(&output.stdout).lines().count(), 1);
        text(&output.stderr)
    };
    let path = std::path::absolute(folder.join("new.db")).unwrap();
    let message = format!("created the database `{}`", path.display());
    assert!(create("alice").contains(&message));
    assert!(!create("bob").contains("created the database"));
}
