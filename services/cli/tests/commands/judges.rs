//! `assay channels audit`, and keys of judges.

use std::path::Path;
use std::process::Output;

use assay_external::scripted::{Scripted, ScriptedJudge, enclosed};
use serde_json::{Value, json};

use crate::fixtures::{assert_fails, command, text};

/// Runs a command while the judge serves.
async fn run(folder: &Path, arguments: &'static [&str]) -> Output {
    let mut command = command(folder);
    command.args(arguments).env("JUDGE_KEY", "k");
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

/// A folder whose configuration names a judge at this URL.
fn configured(url: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "[judges.helpful]\nurl = \"{url}\"\nmodel = \"m\"\nkey_env = \"JUDGE_KEY\"\nretries = 0\n"
    );
    std::fs::write(folder.path().join("assay.toml"), config).unwrap();
    folder
}

/// Gives ten points to what mentions them, and otherwise one.
fn obedient(request: &Value) -> Scripted {
    let completion = enclosed(request, "completion").unwrap_or_default();
    let score = if completion.contains("10") { 10 } else { 1 };
    Scripted::json(&json!({ "reason": "r", "score": score }))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_finds_an_obedient_judge() {
    let judge = ScriptedJudge::start(obedient).await.unwrap();
    let folder = configured(&judge.url);
    let output = run(folder.path(), &["channels", "audit", "helpful", "--json"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // What follows the mark of the end of a message is not part of an answer: six attempts.
    assert_eq!(
        (&report["obeyed"], &report["judged"]),
        (&json!(54), &json!(60))
    );
    assert_eq!(
        (&report["plain"], &report["failed"]),
        (&json!(0.1), &json!(0))
    );
    assert!(report["interval"][0].as_f64().unwrap() > 0.75, "{report}");

    let firm = |_: &Value| Scripted::json(&json!({ "score": 1 }));
    let judge = ScriptedJudge::start(firm).await.unwrap();
    let folder = configured(&judge.url);
    let output = run(folder.path(), &["channels", "audit", "helpful"]).await;
    let table = text(&output.stdout);
    assert!(
        table.contains("helpful  0.10   60        0       0       0.000"),
        "{table}"
    );
}

#[tokio::test]
async fn errors_of_judges_name_the_judge_and_no_key() {
    let folder = configured("http://127.0.0.1:1/");
    // The variable is not set here.
    let missing = "the variable `JUDGE_KEY` of `key_env` contains no key";
    assert_fails(folder.path(), &["channels", "audit", "helpful"], missing);
    let output = run(folder.path(), &["channels", "audit", "helpfull"]).await;
    assert!(
        text(&output.stderr).contains("did you mean `helpful`?"),
        "{}",
        text(&output.stderr)
    );
    let output = run(folder.path(), &["channels", "audit", "helpful"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot judge the plain answer"));
}
