//! `assay record copy` between SQLite and PostgreSQL.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::fixtures::{assay, assert_fails, command, lines, listening_with, record_items, text};
use crate::postgres::{new_database, server};

/// Rows and digest of each table.
type Tables = BTreeMap<String, (u64, String)>;

fn item(n: usize) -> String {
    let completion = format!("It is \\\\boxed{{{n}}}. \\u0000 \u{f8ff}");
    format!(
        r#"{{"id":"item-{n}\uf8ff","task":{{"type":"math","answer":"4"}},"completion":"{completion}","prompt":"2+2? {n}","prompt_key":"k{n}"}}"#
    )
}

/// A folder with a record of two runs.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for run in ["a", "b"] {
        let items: Vec<String> = (0..40).map(item).collect();
        record_items(folder.path(), &items, run, "3");
    }
    folder
}

/// Adds a key and a tag to the record.
fn annotate(folder: &Path) {
    for arguments in [
        &["annotate", "a", "--tags", "best", "--note", "½ \"quoted\""][..],
        &["keys", "create", "alice", "--role", "trainer"],
    ] {
        let output = assay(folder, arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

fn copy(folder: &Path, from: &str, to: &str) -> Tables {
    let output = assay(folder, &["record", "copy", from, to, "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tables = report["tables"].as_array().unwrap().iter();
    tables
        .map(|table| {
            let name = table["table"].as_str().unwrap().to_owned();
            let digest = table["digest"].as_str().unwrap().to_owned();
            (name, (table["rows"].as_u64().unwrap(), digest))
        })
        .collect()
}

#[test]
fn a_record_is_the_same_after_copies_to_postgres_and_back() {
    let folder = recorded();
    let path = folder.path();
    annotate(path);
    let server = server();
    let url = new_database(&server, "copied");
    let mut there = copy(path, "assay.db", &url);
    let mut back = copy(path, &url, "back.db");
    assert_eq!(there["grades"].0, 80, "{there:?}");
    assert!(there["keys"].0 == 1 && there["packs"].0 > 0, "{there:?}");
    // Each copy is in the audit log of its source.
    let [audit, more] = [&mut there, &mut back].map(|tables| tables.remove("audit").unwrap());
    assert_eq!(more.0, audit.0);
    assert_eq!(there, back);
    let logged = assay(
        path,
        &["audit", "--database", "sqlite://assay.db", "--json"],
    );
    let logged = lines(&logged.stdout);
    let entry = logged.iter().find(|entry| entry["action"] == "record.copy");
    let target = entry.unwrap()["target"].as_str().unwrap();
    assert!(
        target.contains(":***@") && target.ends_with("/copied"),
        "{target}"
    );

    for database in [&*url, "sqlite://back.db"] {
        let output = assay(path, &["verify", "--database", database]);
        let printed = text(&output.stdout);
        assert!(printed.contains("sound: checked 80 grades"), "{printed}");
    }
    let exported = |database: &str| {
        let output = assay(
            path,
            &["grades", "--database", database, "--limit", "100", "--json"],
        );
        lines(&output.stdout)
    };
    let grades = exported("sqlite://assay.db");
    assert_eq!(grades.len(), 80);
    assert_eq!(exported("sqlite://back.db"), grades);
}

#[test]
fn a_node_serves_and_continues_a_copy() {
    let folder = recorded();
    let path = folder.path();
    let server = server();
    let url = new_database(&server, "served");
    copy(path, "assay.db", &url);
    let (_running, address) = listening_with(path, command(path), &url);
    std::fs::write(path.join("more.jsonl"), item(4)).unwrap();
    let more = [
        "grade",
        "more.jsonl",
        "--server",
        &address,
        "--run",
        "a",
        "--step",
        "4",
    ];
    let output = assay(path, &more);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let runs = assay(path, &["runs", "a", "--server", &address, "--json"]);
    let runs: Value = serde_json::from_slice(&runs.stdout).unwrap();
    assert_eq!(runs["grades"], 41, "{runs}");
    // The node uses it, so that it is not copied again.
    let again = ["record", "copy", &url, "third.db"];
    assert_fails(path, &again, "other connections; stop its nodes first");
}

#[test]
fn refuses_databases_that_cannot_be_copied_or_are_not_new() {
    let folder = recorded();
    let path = folder.path();
    copy(path, "assay.db", "copy.db");
    for (from, to, message) in [
        (
            "assay.db",
            "copy.db",
            "`sqlite://copy.db` is not empty: it has rows in the table",
        ),
        ("assay.db", "assay.db", "is not empty"),
        (
            "missing.db",
            "new.db",
            "`sqlite://missing.db` contains no record",
        ),
        (
            "mysql://host/name",
            "new.db",
            "is not a database that can be copied",
        ),
        (
            "assay.db",
            "sqlite::memory:",
            "is not a database that can be copied",
        ),
    ] {
        assert_fails(path, &["record", "copy", from, to], message);
        assert!(!path.join("new.db").exists() && !path.join("missing.db").exists());
    }
    let (_running, _) = crate::fixtures::serve(path);
    let used = ["record", "copy", "assay.db", "new.db"];
    assert_fails(path, &used, "is used by another node");
}
