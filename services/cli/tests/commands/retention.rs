//! Retention from the command line: `prune`, `backup`, `verify`, and the settings that decide what
//! is stored.

use std::path::Path;

use serde_json::{Value, json};

use crate::fixtures::{assay, assert_fails, lines, record_items, serve, text};

const DATABASE: [&str; 2] = ["--database", "sqlite://assay.db"];

/// Records batches of text items of a run.
fn record(folder: &Path, run: &str, items: usize) {
    let lines: Vec<String> = (0..items)
        .map(|n| {
            json!({
                "completion": format!("{run} {} mail@example.com", n % 3),
                "prompt": format!("prompt {n}"),
                "task": { "type": "text", "answer": format!("{run} 1 mail@example.com") },
            })
            .to_string()
        })
        .collect();
    record_items(folder, &lines, run, "1");
}

/// The JSON that a command prints.
fn printed(folder: &Path, arguments: &[&str]) -> Value {
    let output = assay(folder, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn runs(folder: &Path) -> Vec<String> {
    let listed = assay(folder, &[&["runs", "--json"][..], &DATABASE[..]].concat());
    let runs = lines(&listed.stdout);
    let mut names: Vec<String> = runs
        .iter()
        .map(|run| run["run"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// The arguments of a prune that opens the database.
fn prune<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["prune"], arguments, &DATABASE[..]].concat()
}

#[test]
fn prunes_a_record_that_no_server_uses() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder, "old", 60);
    record(folder, "best", 30);
    assert_fails(folder, &prune(&[]), "name what to delete with `--run`");
    assert_fails(folder, &prune(&["--older-than", "soon"]), "such as `90d`");
    for option in ["--run", "--keep-run"] {
        let unknown = "no run named `olt`; did you mean `old`?";
        assert_fails(folder, &prune(&[option, "olt", "--dry-run"]), unknown);
    }

    let estimate = printed(folder, &prune(&["--run", "old", "--dry-run", "--json"]));
    assert_eq!(estimate["estimate"]["grades"], 60);
    assert_eq!(estimate["prune"], Value::Null);
    assert_eq!(runs(folder), ["best", "old"]);
    let shown = assay(folder, &prune(&["--run", "old", "--dry-run"]));
    assert!(text(&shown.stdout).starts_with("would delete 60 grades in 1 batches: "));

    let done = assay(folder, &prune(&["--keep-run", "best"]));
    assert!(
        text(&done.stdout).starts_with("deleted 60 grades, 1 runs and "),
        "{}",
        text(&done.stdout)
    );
    assert_eq!(runs(folder), ["best"]);
    let old = printed(folder, &prune(&["--older-than", "1d", "--json"]));
    assert_eq!(old["prune"]["deleted_batches"], 0);
    let bodies = printed(
        folder,
        &prune(&["--older-than", "0m", "--bodies-only", "--json"]),
    );
    assert_eq!(bodies["prune"]["deleted_batches"], 1);
    let again = assay(folder, &prune(&["--older-than", "0m", "--bodies-only"]));
    assert_eq!(
        text(&again.stdout),
        "deleted the bodies of 0 batches: 0 bytes\n"
    );
    let verified = printed(folder, &[&["verify", "--json"][..], &DATABASE[..]].concat());
    assert_eq!(
        (&verified["sound"], &verified["grades"]),
        (&json!(true), &json!(30))
    );
}

#[test]
fn prunes_backs_up_and_verifies_while_a_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder, "old", 60);
    record(folder, "best", 30);
    let (mut server, url) = serve(folder);
    let from_database = ["prune", "--run", "old", DATABASE[0], DATABASE[1]];
    assert_fails(
        folder,
        &from_database,
        &format!("name the server that uses it: `--server {url}`"),
    );
    let copied = printed(
        folder,
        &["backup", "copy", DATABASE[0], DATABASE[1], "--json"],
    );
    assert_eq!(copied["grades"], 90);
    assert_fails(
        folder,
        &["backup", "copy", DATABASE[0], DATABASE[1]],
        "already exists",
    );
    let pruned = printed(
        folder,
        &["prune", "--run", "old", "--server", &url, "--json"],
    );
    assert_eq!(pruned["prune"]["state"], "done");
    assert_eq!(pruned["prune"]["deleted_grades"], 60);
    let verified = assay(folder, &[&["verify"][..], &DATABASE[..]].concat());
    assert!(text(&verified.stdout).starts_with("sound: checked 30 grades in 1 batches"));
    server.kill();

    // The copy is a record.
    let copy = folder.join("copy");
    assert_eq!(runs(&copy), ["best", "old"]);
    let mut bytes = std::fs::read(copy.join("assay.db")).unwrap();
    // Without the pages of the schema, without which nothing can be read.
    let is_schema = |page: &[u8]| page.windows(8).any(|text| text == b"not null");
    let pages = bytes.chunks_exact_mut(4_096).skip(1);
    for page in pages.filter(|page| !is_schema(page)) {
        page.iter_mut().step_by(256).for_each(|byte| *byte ^= 0xff);
    }
    std::fs::write(copy.join("assay.db"), bytes).unwrap();
    let damaged = assay(&copy, &[&["verify"][..], &DATABASE[..]].concat());
    assert_eq!(damaged.status.code(), Some(1), "{}", text(&damaged.stdout));
    assert!(text(&damaged.stdout).contains("damaged: checked "));
}

#[test]
fn a_database_that_cannot_be_read_at_all_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder, "r", 60);
    let database = folder.join("assay.db");
    let intact = std::fs::read(&database).unwrap();
    let mut without_schema = intact.clone();
    without_schema[100..4_096].fill(0x5a);
    for (bytes, problem) in [
        (&intact[..0], "the file has no tables"),
        (&intact[..100], "malformed"),
        (&intact[..4_096], "malformed"),
        (&without_schema, "malformed"),
        (
            &b"no database at all".repeat(1_000),
            "file is not a database",
        ),
    ] {
        std::fs::write(&database, bytes).unwrap();
        let verified = assay(folder, &[&["verify"][..], &DATABASE[..]].concat());
        let (out, error) = (text(&verified.stdout), text(&verified.stderr));
        assert_eq!(verified.status.code(), Some(1), "{out}{error}");
        assert_eq!(out.matches(problem).count(), 1, "{out}");
        assert!(out.contains("damaged: checked 0 grades"), "{out}");
        assert!(!error.contains("earlier release"), "{error}");
    }
    // The spool is checked all the same.
    std::fs::write(&database, []).unwrap();
    let segment = folder.join("assay.db.spool/00000099.seg");
    std::fs::write(&segment, "damaged".repeat(1_000)).unwrap();
    let verified = assay(folder, &[&["verify"][..], &DATABASE[..]].concat());
    let out = text(&verified.stdout);
    assert!(out.contains("00000099.seg"), "{out}");
}

#[test]
fn errors_name_each_cause_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("assay.db"), "no database at all".repeat(1_000)).unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    for (destination, cause) in [
        ("copy", "file is not a database"),
        ("file/copy", "Not a directory"),
    ] {
        let failed = assay(
            folder,
            &["backup", "--database", "sqlite://assay.db", destination],
        );
        let error = text(&failed.stderr);
        assert_eq!(error.matches(cause).count(), 1, "{error}");
    }
}

/// Waits until a prune of this server has deleted some grades, but not all.
async fn deleted_some(http: &reqwest::Client, url: &str, all: u64) -> bool {
    loop {
        let request = http.get(format!("{url}/v1/storage"));
        let reply = request.send().await.unwrap().bytes().await.unwrap();
        let storage: Value = serde_json::from_slice(&reply).unwrap();
        let deleted = storage["prune"]["deleted_grades"].as_u64().unwrap_or(0);
        if deleted > 0 {
            return deleted < all;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_prune_continues_after_its_server_was_killed() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder, "kept", 40);
    let (http, all) = (reqwest::Client::new(), 30_000);
    record(folder, "old", all);
    let (mut server, url) = serve(folder);
    let prune = http
        .post(format!("{url}/v1/storage/prune"))
        .header("content-type", "application/json")
        .body(r#"{"runs":["old"]}"#);
    assert!(prune.send().await.unwrap().status().is_success());
    assert!(deleted_some(&http, &url, all as u64).await);
    server.kill();
    let verify = [&["verify", "--json"][..], &DATABASE[..]].concat();
    let verified = printed(folder, &verify);
    assert_eq!(verified["damages"], json!([]));
    let grades = verified["grades"].as_u64().unwrap();
    assert!((41..30_040).contains(&grades), "{grades}");

    let prune = [&["prune", "--run", "old", "--json"][..], &DATABASE[..]].concat();
    assert_eq!(printed(folder, &prune)["prune"]["state"], "done");
    assert_eq!(runs(folder), ["kept"]);
    let verified = printed(folder, &verify);
    assert_eq!(
        (&verified["grades"], &verified["damages"]),
        (&json!(40), &json!([]))
    );
}

#[test]
fn settings_decide_what_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(
        folder.join("assay.toml"),
        "[retention]\nbodies = \"failures\"\n\n[redaction.email]\npattern = '\\w+@[\\w.]+'\n",
    )
    .unwrap();
    record(folder, "run", 3);
    let listed = assay(folder, &[&["grades", "--json"][..], &DATABASE[..]].concat());
    let mut grades = lines(&listed.stdout);
    grades.sort_by_key(|grade| grade["position"].as_u64());
    // The original text is graded, and only the second is right.
    let verdicts: Vec<&str> = grades
        .iter()
        .map(|grade| grade["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["wrong_answer", "correct", "wrong_answer"]);
    let omitted: Vec<bool> = grades
        .iter()
        .map(|grade| grade["bodies_omitted"].as_bool().unwrap())
        .collect();
    assert_eq!(omitted, [false, true, false]);
    assert!(grades.iter().all(|grade| grade["redacted"] == true));
    for file in ["assay.db", "assay.db-wal"] {
        let bytes = std::fs::read(folder.join(file)).unwrap_or_default();
        let found = bytes.windows(8).any(|bytes| bytes == b"mail@exa");
        assert!(!found, "{file} contains the address");
    }
    let id = grades[0]["grade"].as_str().unwrap();
    assert_fails(
        folder,
        &["replay", id, DATABASE[0], DATABASE[1]],
        "redacted",
    );
    std::fs::write(
        folder.join("assay.toml"),
        "[redaction.all]\npattern = 'a*'\n",
    )
    .unwrap();
    assert_fails(
        folder,
        &["runs", DATABASE[0], DATABASE[1]],
        "`redaction`: `all`",
    );
}
