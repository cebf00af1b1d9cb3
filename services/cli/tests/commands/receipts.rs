//! `assay receipt` and `assay verify-receipt`, and certificates of `assay check`.

use std::path::Path;

use serde_json::{Value, json};

use crate::fixtures::{assay, assert_fails, lines, record_items, serve, text};

/// Records items of several graders, and returns the ids of their grades.
fn recorded(folder: &Path) -> Vec<String> {
    let program = "a, b = map(int, input().split())\nprint(a + b)";
    let items = [
        json!({ "completion": "\\boxed{1/2}", "task": { "type": "math", "answer": "0.5" } }),
        json!({ "completion": "\\boxed{2}", "task": { "type": "math", "answer": "3" } }),
        json!({ "completion": format!("```python\n{program}\n```"),
            "task": { "type": "code", "language": "python",
                "tests": [{ "stdin": "1 2\n", "stdout": "3\n" }] } }),
        json!({ "completion": "B", "task": { "type": "choice", "answer": "B", "options": ["yes", "no"] } }),
    ];
    let items: Vec<String> = items.iter().map(Value::to_string).collect();
    record_items(folder, &items, "r", "1");
    let listed = assay(
        folder,
        &["grades", "--json", "--database", "sqlite://assay.db"],
    );
    let ids = lines(&listed.stdout)
        .iter()
        .map(|grade| grade["grade"].as_str().unwrap().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(ids.len(), items.len(), "{}", text(&listed.stderr));
    ids
}

#[test]
fn receipts_are_verified_elsewhere_by_grading_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let ids = recorded(folder);
    let arguments: Vec<&str> = ["receipt", "--database", "sqlite://assay.db"]
        .into_iter()
        .chain(ids.iter().map(String::as_str))
        .collect();
    let receipts = assay(folder, &arguments);
    assert!(receipts.status.success(), "{}", text(&receipts.stderr));
    let (_server, base) = serve(folder);
    let served = assay(folder, &["receipt", &ids[0], "--server", &base]);
    assert_eq!(lines(&served.stdout)[0], lines(&receipts.stdout)[0]);
    let key = assay(folder, &["receipt", "--public-key", "--server", &base]);
    let key = text(&key.stdout).trim().to_owned();

    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path();
    std::fs::write(elsewhere.join("receipts.jsonl"), &receipts.stdout).unwrap();
    let verify = ["verify-receipt", "receipts.jsonl", "--signed-by", &key];
    let verified = assay(elsewhere, &verify);
    let shown = text(&verified.stdout);
    assert!(verified.status.success(), "{shown}");
    let end = format!(": verified, signed by {key}");
    assert_eq!(shown.lines().filter(|line| line.ends_with(&end)).count(), 4);
    assert!(shown.contains("math@"), "{shown}");

    // A key of someone else, and a changed payload.
    let other = "0".repeat(64);
    let output = assay(
        elsewhere,
        &["verify-receipt", "receipts.jsonl", "--signed-by", &other],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("none of the keys"));
    let mut changed = lines(&receipts.stdout)[0].clone();
    let mut payload = changed["payload"].as_str().unwrap().to_owned();
    let other_digit = if &payload[100..101] == "A" { "B" } else { "A" };
    payload.replace_range(100..101, other_digit);
    changed["payload"] = payload.into();
    std::fs::write(elsewhere.join("changed.json"), changed.to_string()).unwrap();
    let output = assay(elsewhere, &["verify-receipt", "changed.json", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let finding = &lines(&output.stdout)[0];
    assert_eq!(finding["state"], "invalid", "{finding}");
    assert!(finding["reason"].as_str().unwrap().contains("signatures"));

    // A receipt over several lines, and settings of a server that this command does not start.
    let pretty = serde_json::to_string_pretty(&lines(&receipts.stdout)[1]).unwrap();
    std::fs::write(elsewhere.join("pretty.json"), pretty).unwrap();
    std::fs::write(
        elsewhere.join("assay.toml"),
        "[server]\nlisten = \"0.0.0.0:0\"\n[access]\nkeys = \"required\"\n",
    )
    .unwrap();
    let output = assay(elsewhere, &["verify-receipt", "pretty.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 1);
}

#[test]
fn files_without_receipts_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("empty"), "\n").unwrap();
    std::fs::write(folder.join("other"), "{\"a\": 1}").unwrap();
    for (file, reason) in [
        ("empty", "`empty` has no receipts"),
        ("none", "cannot read `none`"),
    ] {
        assert_fails(folder, &["verify-receipt", file], reason);
    }
    let output = assay(folder, &["verify-receipt", "other"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("receipt 1: not valid: line 1 is not a receipt"),
        "{shown}"
    );
    let key = ["verify-receipt", "empty", "--signed-by", "abc"];
    assert_fails(folder, &key, "64 hexadecimal digits");
}

/// Checks `rows.jsonl` with these options; returns the exit code and standard error.
fn check(folder: &Path, options: &[&str]) -> (Option<i32>, String) {
    let check = [
        "check",
        "rows.jsonl",
        "--template",
        "gsm8k",
        "--format",
        "json=report.json",
    ];
    let output = assay(folder, &[&check[..], options].concat());
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_certificate_is_compared_with_a_check_elsewhere() {
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (here, elsewhere) = (here.path(), elsewhere.path());
    let rows: Vec<String> = (2..8)
        .map(|n| {
            format!(
                "{{\"question\":\"{n} times {n}?\",\"answer\":\"#### {}\"}}\n",
                n * n
            )
        })
        .collect();
    for folder in [here, elsewhere] {
        std::fs::write(folder.join("rows.jsonl"), rows.concat()).unwrap();
    }
    let repeats = ["--repeats", "2"];
    let certified = check(here, &[&repeats[..], &["--certificate", "c.json"]].concat());
    assert_eq!(certified.0, Some(0), "{}", certified.1);
    let certificate = std::fs::read(here.join("c.json")).unwrap();
    let certificate: Value = serde_json::from_slice(&certificate).unwrap();
    let key = certificate["signatures"][0]["keyid"].as_str().unwrap();
    std::fs::copy(here.join("c.json"), elsewhere.join("c.json")).unwrap();

    let verify = ["--verify-certificate", "c.json", "--signed-by", key];
    let verified = check(elsewhere, &[&repeats[..], &verify].concat());
    assert_eq!(verified.0, Some(0), "{}", verified.1);
    assert!(
        verified.1.contains("matches the certificate"),
        "{}",
        verified.1
    );
    let once = check(elsewhere, &verify);
    assert_eq!(once.0, Some(1));
    assert!(once.1.contains("options: {\"repeats\":2"), "{}", once.1);
    let stranger = [
        "--verify-certificate",
        "c.json",
        "--signed-by",
        &"0".repeat(64),
    ];
    let refused = check(elsewhere, &[&repeats[..], &stranger].concat());
    assert_eq!(refused.0, Some(2));
    assert!(refused.1.contains("none of the keys"), "{}", refused.1);

    let wrong = rows.concat().replace("#### 49", "#### 48");
    std::fs::write(elsewhere.join("rows.jsonl"), wrong).unwrap();
    let changed = check(elsewhere, &[&repeats[..], &verify].concat());
    assert_eq!(changed.0, Some(1));
    assert!(changed.1.contains("  files: "), "{}", changed.1);

    let overwritten = check(here, &["--certificate", "rows.jsonl"]);
    assert_eq!(overwritten.0, Some(2));
    assert!(overwritten.1.contains("is the input"), "{}", overwritten.1);
    let kept = std::fs::read_to_string(here.join("rows.jsonl")).unwrap();
    assert_eq!(kept, rows.concat());

    let receipt = std::fs::read_to_string(here.join("c.json")).unwrap();
    let renamed = receipt.replace("certificate+json", "receipt+json");
    std::fs::write(elsewhere.join("r.json"), renamed).unwrap();
    let output = assay(elsewhere, &["verify-receipt", "r.json"]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "a certificate is not a receipt"
    );
}

#[test]
fn a_certificate_states_its_template_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("rows.jsonl"), "{\"a\":\"4\",\"b\":\"5\"}\n").unwrap();
    let write = |name: &str, column: &str| {
        let task = json!({ "task": { "type": "math", "answer": format!("{{{{ {column} }}}}") } });
        std::fs::write(folder.join(name), task.to_string()).unwrap();
    };
    let check = |options: &[&str]| {
        let check = [
            "check",
            "rows.jsonl",
            "--format",
            "json=r.json",
            "--fail-on",
            "never",
        ];
        assay(folder, &[&check[..], options].concat()).status.code()
    };
    write("t.json", "a");
    write("same.json", "a");
    let certify = ["--template", "t.json", "--certificate", "c.json"];
    assert_eq!(check(&certify), Some(0));
    let verify =
        |template: &str| check(&["--template", template, "--verify-certificate", "c.json"]);
    assert_eq!(verify("same.json"), Some(0));
    write("t.json", "b");
    assert_eq!(verify("t.json"), Some(1));
}
