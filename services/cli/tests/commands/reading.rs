//! Where commands read the record, and how they show it: `show`, `export --bodies`, `--json`.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::fixtures::{assay, assert_fails, command, lines, record_items, serve, text};

const DATABASE: [&str; 2] = ["--database", "sqlite://assay.db"];

/// A folder with two recorded grades of the run `r`: `right` and `wrong`.
fn recorded() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let item = |id: &str, answer: &str| {
        serde_json::json!({
            "id": id, "group": "g", "prompt": "half?", "completion": format!("so \\boxed{{{answer}}}"),
            "task": { "type": "math", "answer": "1/2" },
        })
        .to_string()
    };
    let items = [item("right", "2/4"), item("wrong", "0.4")];
    record_items(folder.path(), &items, "r", "7");
    folder
}

/// The text that a command prints.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = assay(folder, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// The id of the grade of an item.
fn grade_of(folder: &Path, item: &str) -> String {
    let listed = lines(printed(folder, &["grades", "--id", item, "--json"]).as_bytes());
    listed[0]["grade"].as_str().unwrap().to_owned()
}

#[test]
fn finds_the_server_that_uses_the_database() {
    let folder = recorded();
    let folder = folder.path();
    let published = folder.join("assay.db.spool/server");
    let local = printed(folder, &["grades", "--json"]);
    assert_eq!(local.lines().count(), 2);

    let (mut server, url) = serve(folder);
    assert_eq!(printed(folder, &["grades", "--json"]), local);
    assert_eq!(
        printed(folder, &["grades", "--json", "--server", &url]),
        local
    );
    assert!(printed(folder, &["policies"]).contains("POLICY"));
    let message = format!("name the server that uses it: `--server {url}`");
    assert_fails(folder, &[&["grades"][..], &DATABASE].concat(), &message);
    let named = command(folder)
        .arg("grades")
        .env("ASSAY_SERVER", "nonsense")
        .output()
        .unwrap();
    let message = text(&named.stderr);
    assert!(
        message.contains("invalid server URL `nonsense`"),
        "{message}"
    );

    server.kill();
    assert!(published.exists(), "a killed server leaves its file");
    assert_eq!(printed(folder, &["grades", "--json"]), local);
}

#[test]
fn reads_from_the_configured_address_without_a_database() {
    let served = recorded();
    let (_server, url) = serve(served.path());
    let folder = tempfile::tempdir().unwrap();
    let configure = |address: &str| {
        let settings = format!("[server]\nlisten = \"{address}\"\n");
        std::fs::write(folder.path().join("assay.toml"), settings).unwrap();
    };
    configure(url.trim_start_matches("http://"));
    assert_eq!(
        printed(folder.path(), &["grades", "--json"])
            .lines()
            .count(),
        2
    );
    configure("127.0.0.1:1");
    let message = "no database at `assay.db` and no server at `http://127.0.0.1:1`";
    assert_fails(folder.path(), &["grades"], message);
    assert!(
        !folder.path().join("assay.db").exists(),
        "reading does not create a database"
    );
}

#[test]
fn shows_why_a_grade_has_its_verdict() {
    let folder = recorded();
    let folder = folder.path();
    let id = grade_of(folder, "wrong");
    let shown = printed(folder, &["show", &id]);
    let first = shown.lines().next().unwrap();
    assert!(
        first.starts_with("wrong_answer: the answer is not equivalent to any gold")
            && first.ends_with("the numbers differ"),
        "{first}"
    );
    for part in [
        "\nstep        7\n",
        "\nreward      0\n",
        "\nAnswer\n  expected  1/2\n  got       0.4\n",
        "\nEvidence\n",
        "\nPrompt\n  half?\n",
        "\nCompletion\n  so \\boxed{0.4}\n",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    let json: Value = serde_json::from_str(&printed(folder, &["show", &id, "--json"])).unwrap();
    assert_eq!(json["completion"], "so \\boxed{0.4}");

    let (_server, _) = serve(folder);
    assert_eq!(
        printed(folder, &["show", &id]),
        shown,
        "a server shows the same"
    );
    let absent = "01JD5XW7P9V6F8K4M3N2Q1R0ST";
    assert_fails(
        folder,
        &["show", absent],
        &format!("no grade has the id `{absent}`"),
    );
}

#[test]
fn searches_texts_with_the_setting() {
    let folder = recorded();
    let folder = folder.path();
    let off = "texts are not searched; set `store.text_search = true` and restart the node";
    assert_fails(folder, &["grades", "--text", "boxed"], off);
    std::fs::write(folder.join("assay.toml"), "[store]\ntext_search = true\n").unwrap();
    let items = |text: &str| {
        let listed = printed(folder, &["grades", "--json", "--text", text]);
        let rows = lines(listed.as_bytes());
        let ids = rows
            .iter()
            .map(|row| row["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    let check = || {
        assert_eq!(items("boxed half"), ["wrong", "right"]);
        assert_eq!(items("\"boxed{0.4}\""), ["wrong"]);
        assert_eq!(items("-0.4 so"), ["right"]);
        assert_eq!(items("hal* -4"), [""; 0]);
    };
    check();
    let short = "`bo*` is too short; at least 3 letters or digits must precede `*`";
    assert_fails(folder, &["grades", "--text", "bo*"], short);
    let (_server, _) = serve(folder);
    check();
}

#[tokio::test]
async fn lists_grades_by_the_label_of_a_comment() {
    let folder = recorded();
    let folder = folder.path();
    let id = grade_of(folder, "wrong");
    let (server, base) = serve(folder);
    // Another test may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let comment = reqwest::Client::new()
        .post(format!("{base}/v1/grades/{id}/comments"))
        .json(&serde_json::json!({ "labels": ["gold-wrong"] }));
    assert_eq!(comment.send().await.unwrap().status(), 200);
    let labelled = |label: &str| {
        let listed = printed(folder, &["grades", "--json", "--label", label]);
        let rows = lines(listed.as_bytes());
        let ids = rows.iter().map(|row| row["id"].clone());
        ids.collect::<Vec<Value>>()
    };
    assert_eq!(labelled("gold-wrong"), ["wrong"]);
    assert_eq!(labelled("gold"), [""; 0]);
    drop(server);
    assert_eq!(labelled("gold-wrong"), ["wrong"], "from the database");
}

#[test]
fn lists_grades_between_two_times() {
    let folder = recorded();
    let count = |options: &[&str]| {
        let arguments = [&["grades", "--json"], options].concat();
        printed(folder.path(), &arguments).lines().count()
    };
    assert_eq!(count(&["--since", "1h"]), 2);
    assert_eq!(
        count(&["--since", "2020-01-01", "--until", "2020-01-02T03:04:05"]),
        0
    );
    assert_eq!(count(&["--until", "1h"]), 0);
    assert_fails(
        folder.path(),
        &["grades", "--since", "yesterday"],
        "expected a time in UTC",
    );

    let table = printed(folder.path(), &["grades"]);
    let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        head[..8],
        [
            "GRADE", "TIME", "CALLER", "RUN", "STEP", "ITEM", "CHANNEL", "GRADER"
        ]
    );
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(
        row[2..8],
        ["local", "r", "7", "wrong", "math/default", "math@2"]
    );
    assert!(assay_base::utc::parse(row[1]).is_some(), "{}", row[1]);
}

#[test]
fn exports_texts_with_grades() {
    let folder = recorded();
    let folder = folder.path();
    let export =
        || lines(printed(folder, &["export", "-", "--format", "jsonl", "--bodies"]).as_bytes());
    let rows = export();
    let texts: Vec<_> = rows
        .iter()
        .map(|row| (&row["prompt"], &row["completion"]))
        .collect();
    let prompt = Value::from("half?");
    let [wrong, right] = ["so \\boxed{0.4}", "so \\boxed{2/4}"].map(Value::from);
    assert_eq!(texts, [(&prompt, &wrong), (&prompt, &right)]);
    let id = grade_of(folder, "wrong");
    let shown: Value = serde_json::from_str(&printed(folder, &["show", &id, "--json"])).unwrap();
    assert_eq!(rows[0], shown);

    let table = printed(folder, &["export", "-", "--format", "csv", "--bodies"]);
    assert!(
        table
            .lines()
            .nth(1)
            .unwrap()
            .contains(",half?,so \\boxed{0.4},"),
        "{table}"
    );
    printed(folder, &["export", "all.parquet", "--bodies"]);
    let file = std::fs::File::open(folder.join("all.parquet")).unwrap();
    let reader = parquet::file::serialized_reader::SerializedFileReader::new(file).unwrap();
    let rows = parquet::file::reader::FileReader::get_row_iter(&reader, None).unwrap();
    let completions: Vec<String> = rows
        .map(|row| {
            let row = row.unwrap();
            let mut columns = row.get_column_iter();
            let (_, field) = columns.find(|(name, _)| *name == "completion").unwrap();
            field.to_string()
        })
        .collect();
    assert_eq!(completions, ["\"so \\boxed{0.4}\"", "\"so \\boxed{2/4}\""]);

    let (_server, _) = serve(folder);
    assert_eq!(export()[0], shown, "a server exports the same");
}

#[test]
fn lists_as_json_have_one_object_per_line() {
    let folder = recorded();
    for arguments in [
        &["grades"][..],
        &["runs"],
        &["channels"],
        &["graders"],
        &["templates"],
        &["policies"],
        &["policies", "--functions"],
        &["images"],
    ] {
        let arguments = [arguments, &["--json"]].concat();
        let listed = lines(printed(folder.path(), &arguments).as_bytes());
        assert!(
            !listed.is_empty() && listed.iter().all(Value::is_object),
            "{arguments:?}"
        );
    }
}

#[test]
fn suggests_the_nearest_name() {
    let folder = recorded();
    for (arguments, similar) in [
        (["grades", "--verdict", "wrong_answr"], "wrong_answer"),
        (["grades", "--grader", "maths"], "math"),
        (["grades", "--outcome", "grade"], "graded"),
    ] {
        let message = format!("did you mean `{similar}`?");
        assert_fails(folder.path(), &arguments, &message);
    }
    assert_fails(folder.path(), &["runs", "absent"], "no run named `absent`");
}

#[test]
fn writes_manual_pages_and_completion_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let page = printed(folder, &["man", "grades"]);
    assert!(
        page.contains(".TH assay-grades 1") && page.contains("since"),
        "{page}"
    );
    assert!(printed(folder, &["man"]).contains("assay\\-grades(1)"));
    assert!(printed(folder, &["man", "channels", "show"]).contains(".TH assay-channels-show 1"));
    assert_fails(
        folder,
        &["man", "chanels"],
        "no command `chanels`; did you mean `channels`?",
    );
    printed(folder, &["man", "--folder", "pages/man1"]);
    assert_eq!(
        std::fs::read_to_string(folder.join("pages/man1/assay-grades.1")).unwrap(),
        page
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(folder, &["completions", shell]);
        assert!(
            script.contains("assay") && script.contains("set-aside"),
            "{shell}"
        );
    }
    assert_fails(folder, &["completions", "csh"], "invalid value 'csh'");
}
