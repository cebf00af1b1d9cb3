//! The GitHub action of `assay check`, run as a script.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::fixtures::text;

/// The root of the repository.
fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The script of the GitHub action, with these inputs and without a binary.
fn action_command(folder: &Path, inputs: &[(&str, &str)]) -> Command {
    let mut command = Command::new("bash");
    command
        .arg(repository().join("deploy/ci/check.sh"))
        .current_dir(folder)
        .env_remove("ASSAY");
    command
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .env("SARIF", "out.sarif")
        .envs(inputs.iter().copied());
    command
}

/// Runs the script of the GitHub action with these inputs.
fn action(folder: &Path, inputs: &[(&str, &str)]) -> Output {
    let mut command = action_command(folder, inputs);
    command
        .env("ASSAY", env!("CARGO_BIN_EXE_assay"))
        .output()
        .unwrap()
}

#[test]
fn action_annotates_findings_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a b.jsonl"),
        "{\"question\":\"?\",\"answer\":\"x\"}\n",
    )
    .unwrap();
    let inputs = [
        ("DATASETS", "a b.jsonl\n"),
        ("TEMPLATE", "gsm8k"),
        ("ARGUMENTS", "--max-findings\n5\n"),
    ];
    let output = action(folder.path(), &inputs);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).starts_with("::error file=a b.jsonl,line=1,title=template-fails::")
    );
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(
        read("summary.md").contains("template-fails")
            && read("out.sarif").contains("template-fails")
    );
    // Inputs that look like options or shell commands are taken literally.
    let output = action(folder.path(), &[("DATASETS", "--help\n$(touch gone)")]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(!folder.path().join("gone").exists());
}

#[test]
fn action_writes_sarif_to_a_path_with_commas() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = repository().join("tests/datasets/queries-planted.jsonl");
    let inputs = [
        ("DATASETS", dataset.to_str().unwrap()),
        ("SARIF", "a,junit=b.sarif"),
    ];
    let output = action(folder.path(), &inputs);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("::error file="));
    let sarif = std::fs::read_to_string(folder.path().join("a,junit=b.sarif")).unwrap();
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
}

/// Records its directory, its target directory and its arguments, and creates the binary.
const FAKE_CARGO: &str = r#"#!/bin/sh
{ pwd -P; printf '%s\n' "$CARGO_TARGET_DIR" "$@"; } >"$RECORDED"
mkdir -p "$CARGO_TARGET_DIR/debug" && ln -sf "$BINARY" "$CARGO_TARGET_DIR/debug/assay"
"#;

/// Runs the script of the GitHub action with a cargo that builds nothing. Returns the output, and
/// what that cargo recorded.
fn action_that_builds(folder: &Path, cargo: &str, target: Option<&str>) -> (Output, Vec<String>) {
    let programs = folder.join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let program = programs.join("cargo");
    std::fs::write(&program, cargo).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let search = std::env::join_paths([programs, "/usr/bin".into(), "/bin".into()]).unwrap();
    let dataset = repository().join("tests/datasets/queries.jsonl");
    let inputs = [("DATASETS", dataset.to_str().unwrap())];
    let mut command = action_command(folder, &inputs);
    command
        .env("PATH", search)
        .env("RECORDED", folder.join("recorded"))
        .env("BINARY", env!("CARGO_BIN_EXE_assay"));
    match target {
        Some(target) => command.env("CARGO_TARGET_DIR", target),
        None => command.env_remove("CARGO_TARGET_DIR"),
    };
    let output = command.output().unwrap();
    let recorded = std::fs::read_to_string(folder.join("recorded")).unwrap_or_default();
    (output, recorded.lines().map(str::to_owned).collect())
}

#[test]
fn action_builds_the_binary_in_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    let absolute = here.join("absolute").display().to_string();
    let relative = here.join("build/a b").display().to_string();
    for (target, expected) in [("build/a b", &relative), (absolute.as_str(), &absolute)] {
        let (output, recorded) = action_that_builds(&here, FAKE_CARGO, Some(target));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let repository = repository().display().to_string();
        let arguments = ["build", "--locked", "--package", "assay"];
        assert_eq!(recorded[..2], [repository, expected.clone()]);
        assert_eq!(recorded[2..], arguments);
        assert!(here.join("out.sarif").exists());
    }
}

#[test]
fn action_builds_into_the_repository_by_default() {
    let folder = tempfile::tempdir().unwrap();
    // Fails, so that nothing is written to the repository.
    let cargo = "#!/bin/sh\necho \"$CARGO_TARGET_DIR\" >\"$RECORDED\"\nexit 101\n";
    let (output, recorded) = action_that_builds(folder.path(), cargo, None);
    assert_eq!(
        output.status.code(),
        Some(2),
        "a build that fails is not a finding"
    );
    assert_eq!(recorded, [repository().join("target").to_str().unwrap()]);
}
