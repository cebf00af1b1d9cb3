//! `--shared`: a file of values, to which the tasks of items refer.

use std::path::Path;

use serde_json::{Value, json};

use crate::fixtures::{assay, assert_fails, lines, serve, text};

const VALUES: &str = r#"{
    "shop": {"stock": {"apple": 3, "pear": 12345678901234567890.50}},
    "effects": {"take": [{"op": "add", "path": "/stock/apple", "value": 2}]}
}"#;

/// A call of `take`, no call, a task with an unknown value, and a template's row with a task of its
/// own.
fn items() -> String {
    let task = |initial: &str| {
        json!({
            "type": "tools", "expected": [{"name": "take", "arguments": {}}],
            "state": {"initial": {"$shared": initial}, "effects": {"$shared": "effects"}},
        })
    };
    let call = r#"<tool_call>{"name": "take", "arguments": {}}</tool_call>"#;
    let items = [
        json!({"id": "call", "completion": call, "task": task("shop")}),
        json!({"id": "none", "completion": "no", "task": task("shop"), "meta": {"$shared": "x"}}),
        json!({"id": "unknown", "completion": call, "task": task("shops")}),
        json!({"id": "alone", "completion": "4", "task": {"type": "math", "answer": "4"}}),
    ];
    items.map(|item| format!("{item}\n")).concat()
}

/// Grades the items with these options and returns what each result says.
fn verdicts(folder: &Path, options: &[&str]) -> Vec<[Value; 2]> {
    let output = assay(folder, &[&["grade", "items.jsonl"], options].concat());
    // A job with a line that could not be graded exits with 1.
    let code = i32::from(options.contains(&"--job"));
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    let results = lines(&output.stdout);
    let of = |result: &Value| {
        let message = result["error"]["message"].clone();
        [result["verdict"].clone(), message]
    };
    results.iter().map(of).collect()
}

#[test]
fn tasks_of_a_file_refer_to_shared_values() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("items.jsonl"), items()).unwrap();
    std::fs::write(folder.join("values.json"), VALUES).unwrap();
    let (_server, base) = serve(folder);
    let shared = ["--shared", "values.json"];
    let local = verdicts(folder, &shared);
    let unknown = "no value in the file of shared values is named `shops`; did you mean `shop`?";
    assert_eq!(local[0], [json!("correct"), Value::Null]);
    assert_eq!(local[1], [json!("no_call"), Value::Null]);
    assert_eq!(
        local[2],
        [
            Value::Null,
            json!(format!("line 3: `/task/state/initial`: {unknown}"))
        ]
    );
    assert_eq!(local[3], [json!("correct"), Value::Null]);
    let on_server = [&shared[..], &["--server", &base]].concat();
    assert_eq!(verdicts(folder, &on_server), local);
    let as_job = verdicts(folder, &[&on_server[..], &["--job"]].concat());
    assert_eq!(
        (&as_job[..2], &as_job[3]),
        (&local[..2], &local[3]),
        "{as_job:?}"
    );
    let message = as_job[2][1].as_str().unwrap();
    // The line is sent without any of its values; the server names the first.
    assert!(message.contains("no value is named `effects`"), "{message}");
}

#[test]
fn the_record_has_tasks_with_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("items.jsonl"), items()).unwrap();
    std::fs::write(folder.join("values.json"), VALUES).unwrap();
    let database = ["--database", "sqlite://assay.db", "--shared", "values.json"];
    let output = assay(folder, &[&["grade", "items.jsonl"], &database[..]].concat());
    let results = lines(&output.stdout);
    let grade = results[0]["grade"].as_str().unwrap();
    let shown = assay(
        folder,
        &["show", grade, "--json", "--database", "sqlite://assay.db"],
    );
    let shown = text(&shown.stdout);
    assert!(shown.contains("12345678901234567890.50"), "{shown}");
}

#[test]
fn rejects_files_that_are_not_values_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("items.jsonl"), items()).unwrap();
    std::fs::write(folder.join("values.json"), "[1]").unwrap();
    let (_server, base) = serve(folder);
    let grade = ["grade", "items.jsonl", "--server", &base, "--shared"];
    for (file, message) in [
        ("values.json", "`values.json`: "),
        ("none.json", "cannot read `none.json`"),
    ] {
        assert_fails(folder, &["grade", "items.jsonl", "--shared", file], message);
        assert_fails(folder, &[&grade[..], &[file]].concat(), message);
        assert_fails(folder, &[&grade[..], &[file, "--job"]].concat(), message);
    }
    let without = verdicts(folder, &[]);
    let message = without[0][1].as_str().unwrap();
    assert!(message.contains("`--shared`"), "{message}");
}
