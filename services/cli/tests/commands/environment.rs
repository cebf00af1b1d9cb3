//! Environment variables that are not settings do not make commands fail.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::fixtures::text;

const ITEM: &str = r#"{"completion":"\\boxed{2}","task":{"type":"math","answer":"2"}}"#;

/// Runs a command with these environment variables.
fn run_with(folder: &Path, variables: &[(&str, &OsStr)], arguments: &[&OsStr]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("ASSAY_LOG_FILTER");
    command.envs(variables.iter().copied()).output().unwrap()
}

fn os_strings(arguments: &[&'static str]) -> Vec<&'static OsStr> {
    arguments.iter().copied().map(OsStr::new).collect()
}

#[test]
fn ignores_variables_of_kubernetes_and_values_that_are_not_utf_8() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("items.jsonl"), ITEM).unwrap();
    let bad = OsStr::from_bytes(b"\xff\xfe");
    let variables = [
        ("ASSAY_PORT", OsStr::new("tcp://10.0.0.1:80")),
        ("ASSAY_SERVICE_HOST", OsStr::new("10.0.0.1")),
        ("ASSAY_PORT_80_TCP_ADDR", OsStr::new("10.0.0.1")),
        ("SOME_OTHER", bad),
    ];
    for arguments in [
        os_strings(&["grade", "items.jsonl"]),
        os_strings(&["--strict", "graders"]),
    ] {
        let output = run_with(folder.path(), &variables, &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            !text(&output.stderr).contains("ASSAY_"),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn warns_about_unknown_variables_and_rejects_them_under_strict() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [("ASSAY_ENGINE_WORKER", OsStr::new("3"))];
    let output = run_with(
        folder.path(),
        &variables,
        &os_strings(&["serve", "--print-config"]),
    );
    assert!(output.status.success());
    assert!(
        text(&output.stdout).starts_with("[server]"),
        "the warning is not part of the configuration"
    );
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("`ASSAY_ENGINE_WORKER`, which is not a known setting")
            && stderr.contains("`ASSAY_ENGINE_WORKERS`"),
        "{stderr}"
    );
    for arguments in [
        os_strings(&["--strict", "serve", "--print-config"]),
        os_strings(&["graders", "--strict"]),
    ] {
        let output = run_with(folder.path(), &variables, &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains("the most similar is `ASSAY_ENGINE_WORKERS`"),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn rejects_settings_that_are_not_utf_8() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [("ASSAY_STORE_DATABASE", OsStr::from_bytes(b"sqlite://\xff"))];
    let output = run_with(folder.path(), &variables, &os_strings(&["graders"]));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "assay: `ASSAY_STORE_DATABASE`: the value is not UTF-8\n"
    );
}

#[test]
fn accepts_file_names_and_arguments_that_are_not_utf_8() {
    let folder = tempfile::tempdir().unwrap();
    let name = OsString::from(OsStr::from_bytes(b"items-\xff\x1b[31m.jsonl"));
    std::fs::write(folder.path().join(&name), ITEM).unwrap();
    let output = run_with(folder.path(), &[], &[OsStr::new("grade"), &name]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let missing = OsStr::from_bytes(b"missing-\xff\x1b[31m.jsonl");
    let output = run_with(folder.path(), &[], &[OsStr::new("grade"), missing]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("cannot read `missing-\u{fffd}\\u{1b}[31m.jsonl`"),
        "{}",
        text(&output.stderr)
    );
    // The first argument is inspected before all others, because it may select the hidden mode of
    // sandbox workers.
    let output = run_with(folder.path(), &[], &[OsStr::from_bytes(b"\xff")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        !text(&output.stderr).contains("panicked"),
        "{}",
        text(&output.stderr)
    );
}
