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

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_measures_the_preference_for_length_and_for_the_own_model() {
    // A point for each five characters, and two for the judge's own model.
    let biased = |request: &Value| {
        let completion = enclosed(request, "completion").unwrap_or_default();
        let own = if completion.contains("mine") { 2 } else { 0 };
        let score = (completion.chars().count() / 5 + own).min(10);
        Scripted::json(&json!({ "score": score }))
    };
    let judge = ScriptedJudge::start(biased).await.unwrap();
    let folder = configured(&judge.url);
    let item = |at: usize| {
        let (model, words) = [("m", "mine"), ("other", "ours")][at % 2];
        json!({
            "prompt": format!("question {}", at / 2),
            "completion": format!("{words} {}", "x".repeat(at / 2)),
            "task": { "type": "external", "judge": "helpful" },
            "meta": { "model": model },
        })
    };
    let lines: Vec<String> = (0..60).map(|at| item(at).to_string()).collect();
    std::fs::write(folder.path().join("items.jsonl"), lines.join("\n")).unwrap();
    let audit = &[
        "channels",
        "audit",
        "helpful",
        "--items",
        "items.jsonl",
        "--json",
    ];
    let output = run(folder.path(), audit).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bias = &report["bias"];
    assert_eq!((&bias["items"], &bias["prompts"]), (&json!(60), &json!(30)));
    assert!(
        bias["length"]["interval"][0].as_f64().unwrap() > 0.5,
        "{bias}"
    );
    let own = bias["self_preference"]["value"].as_f64().unwrap();
    assert!((own - 0.2).abs() < 1e-9, "{bias}");
    let audit = &["channels", "audit", "helpful", "--items", "items.jsonl"];
    let output = run(folder.path(), audit).await;
    let table = text(&output.stdout);
    assert!(table.contains("own model  +0.200"), "{table}");
}

#[tokio::test]
async fn commands_that_do_not_judge_need_no_key() {
    let folder = configured("http://127.0.0.1:1/");
    let listed = command(folder.path()).arg("graders").output().unwrap();
    assert_eq!(listed.status.code(), Some(0), "{}", text(&listed.stderr));
    assert!(text(&listed.stdout).contains("external@"));
    let item = json!({ "completion": "4", "task": { "type": "external", "judge": "helpful" } });
    std::fs::write(folder.path().join("items.jsonl"), item.to_string()).unwrap();
    let graded = command(folder.path())
        .args(["grade", "items.jsonl"])
        .output()
        .unwrap();
    let printed = text(&graded.stdout);
    assert!(
        printed.contains("judge_failed") && printed.contains("contains no key"),
        "{printed}"
    );
    assert_fails(
        folder.path(),
        &["serve"],
        "the variable `JUDGE_KEY` of `key_env`",
    );
}
