//! `assay check`: what fails a check, where rows come from, and the files that it writes besides
//! its reports.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixtures::{assay, text};

fn datasets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/datasets")
}

#[test]
fn every_grader_has_probes_or_a_reason_for_none() {
    let output = assay(&datasets(), &["graders", "--json"]);
    let lines = text(&output.stdout);
    let names: Vec<String> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["name"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        let reason = assay_check::why_unprobed(&name);
        assert!(
            reason != Some("there are no probes for this type of task"),
            "`{name}` needs a prober, or a reason in `UNPROBED` of `assay_check::probes`"
        );
    }
}

/// A schema that accepts any document: nothing is known that should pass.
const UNCHECKED: &str = r#"{"id": "a", "prompt": "Any object.",
    "task": {"type": "structured", "schema": {"type": "object"}}}"#;

#[test]
fn rows_without_a_right_completion_are_unchecked() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("rows.jsonl"),
        UNCHECKED.replace('\n', "") + "\n",
    )
    .unwrap();
    let check = |arguments: &[&str]| {
        assay(
            folder.path(),
            &[&["check", "rows.jsonl"], arguments].concat(),
        )
    };
    let output = check(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(
        printed.contains(
            "unchecked: all 1 rows are unchecked: no completion is known that should pass"
        ) && printed.ends_with("1 row checked: 0 errors, 1 warning; 1 row unchecked\n"),
        "{printed}"
    );
    for arguments in [
        ["--fail-on", "error"],
        ["--fail-on", "never"],
        ["--ignore", "unchecked"],
        ["--solution", "{}"],
    ] {
        assert_eq!(check(&arguments).status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn exit_code_does_not_depend_on_the_reader() {
    let binary = env!("CARGO_BIN_EXE_assay");
    let command = |dataset: &str, end: &str| {
        let script = format!(
            "set -o pipefail; {binary} check {dataset} --max-findings 0 --format text,json {end}"
        );
        let mut shell = Command::new("bash");
        let status = shell
            .args(["-c", &script])
            .current_dir(datasets())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        status.status().unwrap().code()
    };
    for end in [
        "",
        "| head -1",
        "| head -c 1",
        "| true",
        "| cat",
        ">&-",
        "> /dev/null",
        "2>&1 | head -1",
    ] {
        assert_eq!(command("queries-planted.jsonl", end), Some(1), "{end}");
        assert_eq!(command("queries.jsonl", end), Some(0), "{end}");
    }
}

#[test]
fn reads_standard_input_folders_and_patterns() {
    let folder = tempfile::tempdir().unwrap();
    let rows = std::fs::read(datasets().join("queries-planted.jsonl")).unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/a.jsonl"), &rows).unwrap();
    std::fs::write(folder.path().join("data/notes.txt"), "not a dataset").unwrap();
    let counts = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        let mut child = command
            .args(["check", name, "--format", "json"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The check of a file does not read standard input.
        let _ = child.stdin.take().unwrap().write_all(&rows);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["counts"].clone()
    };
    let expected = counts("data/a.jsonl");
    for name in ["-", "data", "data/*.jsonl", "."] {
        assert_eq!(counts(name), expected, "{name}");
    }
    let nothing = assay(folder.path(), &["check", "*.csv"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(
        text(&nothing.stderr).contains("no file matches"),
        "{}",
        text(&nothing.stderr)
    );
}

#[test]
fn proposes_tests_that_detect_changed_programs() {
    let folder = tempfile::tempdir().unwrap();
    let row = r#"{"id": "a", "prompt": "Write `larger(a, b)`.",
        "canonical_solution": "def larger(a, b):\n    if a > b:\n        return a\n    return b\n",
        "task": {"type": "code", "language": "python",
        "tests": [{"assert": "assert larger(5, 2) == 5"}]}}"#;
    std::fs::write(
        folder.path().join("rows.jsonl"),
        row.replace("\n        ", "") + "\n",
    )
    .unwrap();
    let output = assay(
        folder.path(),
        &["check", "rows.jsonl", "--write-tests", "tests.jsonl"],
    );
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("weak-checks: "),
        "{}",
        text(&output.stdout)
    );
    let tests = std::fs::read_to_string(folder.path().join("tests.jsonl")).unwrap();
    let tests: Vec<Value> = tests
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!tests.is_empty());
    for test in tests {
        assert_eq!(test["key"], "a");
        // The test passes for the right program.
        let code = test["test"].as_str().unwrap();
        assert!(
            code.starts_with("assert larger(") && code.contains(") == "),
            "{code}"
        );
    }
}

#[test]
fn writes_rows_without_findings() {
    let folder = tempfile::tempdir().unwrap();
    let rows = datasets().join("queries-planted.jsonl");
    let check =
        |dataset: &str, more: &[&str]| assay(folder.path(), &[&["check", dataset], more].concat());
    let output = check(rows.to_str().unwrap(), &["--write-clean", "clean.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("of 16 rows to `clean.jsonl`; left out: "),
        "{}",
        text(&output.stderr)
    );
    let again = check("clean.jsonl", &[]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stdout));
}
