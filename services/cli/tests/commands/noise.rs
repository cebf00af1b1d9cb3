//! `assay policies` and `assay channels`.

use std::path::Path;

use serde_json::Value;

use crate::fixtures::{assay, assert_fails};

/// Runs a command that must succeed and returns its output.
fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let output = assay(folder, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

const POLICIES: &str = r#"
[policies.short]
summary = "answers of a thousand tokens at most"
length = { soft_overlong = { max = 1000, buffer = 200 } }

[policies.halves]
[[policies.halves.appeals]]
judge = { type = "math", answer = "{{ task.answer }}" }
negatives = 1.0
overturn = true
"#;

/// Labelled answers to 1/2 for a task that accepts only decimals, so that right fractions fail.
fn labelled() -> String {
    let line = |answer: &str, label: bool| {
        format!(
            r#"{{"completion":"\\boxed{{{answer}}}","task":{{"type":"math","answer":"1/2","form":"decimal"}},"label":{label}}}"#
        )
    };
    let lines = [line("0.5", true), line("1/2", true), line("3", false)];
    lines
        .iter()
        .flat_map(|line| std::iter::repeat_n(format!("{line}\n"), 10))
        .collect()
}

#[test]
fn lists_explains_and_validates_policies() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("assay.toml"), POLICIES).unwrap();
    let list = stdout(folder.path(), &["policies"]);
    let names: Vec<_> = list
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(names, ["default", "halves", "short"]);
    assert!(stdout(folder.path(), &["policies", "short"]).contains("length.soft_overlong"));
    assert!(stdout(folder.path(), &["policies", "--functions"]).contains("soft_overlong"));
    assert_fails(
        folder.path(),
        &["policies", "long"],
        "available: `default`, `halves`, `short`",
    );
    std::fs::write(
        folder.path().join("good.toml"),
        "advantage_estimator = \"rloo\"\n",
    )
    .unwrap();
    assert!(stdout(folder.path(), &["policies", "--check", "good.toml"]).contains("rloo"));
    std::fs::write(
        folder.path().join("bad.json"),
        r#"{"advantage_estimator": "ppo"}"#,
    )
    .unwrap();
    assert_fails(
        folder.path(),
        &["policies", "--check", "bad.json"],
        "unknown estimator `ppo`",
    );
    let judge = r#"{"appeals":[{"judge":{"type":"maths"},"negatives":1}]}"#;
    std::fs::write(folder.path().join("judge.json"), judge).unwrap();
    assert_fails(
        folder.path(),
        &["policies", "--check", "judge.json"],
        "no grader is named `maths`",
    );
    std::fs::write(
        folder.path().join("assay.toml"),
        "[policies.short]\nlenth = {}\n",
    )
    .unwrap();
    assert_fails(
        folder.path(),
        &["serve", "--print-config"],
        "`policies.short`",
    );
}

#[test]
fn grades_a_file_with_a_policy() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("assay.toml"), POLICIES).unwrap();
    let own = r#"{"completion":"3","task":{"type":"math","answer":"3"},"policy":{"shape":{"bounds":{"low":-1,"high":1}}}}"#;
    let bad = r#"{"completion":"3","task":{"type":"math","answer":"3"},"policy":"nobody"}"#;
    std::fs::write(
        folder.path().join("items.jsonl"),
        format!("{}{own}\n{bad}\n", labelled()),
    )
    .unwrap();
    let results = stdout(
        folder.path(),
        &["grade", "items.jsonl", "--policy", "halves"],
    );
    let results: Vec<Value> = results
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&results[10]["pass"], &results[10]["reward"]),
        (&Value::from(false), &Value::from(1.0))
    );
    assert_eq!(results[10]["appeal"]["overturned"], true);
    assert!(
        results[30]["reward_breakdown"]["terms"].is_array(),
        "{}",
        results[30]
    );
    assert_eq!(results[31]["error"]["code"], "unknown_policy");
    assert_fails(
        folder.path(),
        &["grade", "items.jsonl", "--policy", "nobody"],
        "no policy is named `nobody`",
    );
}

#[test]
fn calibrates_a_channel_from_labels() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("labelled.jsonl"), labelled()).unwrap();
    let database = ["--database", "sqlite://assay.db"];
    let grade = [
        "grade",
        "labelled.jsonl",
        "-o",
        "/dev/null",
        "--database",
        "sqlite://assay.db",
    ];
    assert!(
        stdout(
            folder.path(),
            &["channels", "calibrate", "--dry-run", "labelled.jsonl"]
        )
        .contains("0.500")
    );
    stdout(folder.path(), &grade);
    let calibrate = |more: &[&str]| {
        stdout(
            folder.path(),
            &[
                &["channels"],
                &database[..],
                &["calibrate", "labelled.jsonl"],
                more,
            ]
            .concat(),
        )
    };
    let found = calibrate(&["--dry-run"]);
    let row: Vec<_> = found.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..5], ["math/default@2", "labels", "20", "10", "0.000"]);
    assert!(row.contains(&"0.500"), "{found}");
    assert!(
        stdout(folder.path(), &["channels"]).contains('?'),
        "a dry run stores nothing"
    );
    calibrate(&[]);
    let shown = stdout(folder.path(), &["channels", "show", "math/default"]);
    assert!(
        shown.contains("calibrated") && shown.contains("0.500"),
        "{shown}"
    );
    let compared = stdout(
        folder.path(),
        &["channels", "compare", "math/default@2", "math/default"],
    );
    assert!(compared.contains("+0.000"), "{compared}");
    assert_fails(
        folder.path(),
        &["channels", "show", "sql/default"],
        "available: `math/default`",
    );
}

#[test]
fn draws_and_adjudicates_grades() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("items.jsonl"), labelled()).unwrap();
    stdout(
        folder.path(),
        &[
            "grade",
            "items.jsonl",
            "-o",
            "/dev/null",
            "--database",
            "sqlite://assay.db",
        ],
    );
    let drawn: Value = serde_json::from_str(&stdout(folder.path(), &["channels", "draw"])).unwrap();
    let grade = drawn["grade"].as_str().unwrap();
    let stored: Value = serde_json::from_str(&stdout(
        folder.path(),
        &["channels", "adjudicate", grade, "--right", "--note", "seen"],
    ))
    .unwrap();
    assert!(stored["weight"].is_number() && stored["note"] == "seen");
    assert_fails(folder.path(), &["channels", "adjudicate", grade], "--right");
    assert_fails(
        folder.path(),
        &["channels", "adjudicate", "nonsense", "--right"],
        "malformed id",
    );
}
