//! The command line, as it is typed.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixtures::{assay, lines, refused, serve, text};

const ITEMS: &str = concat!(
    r#"{"id":"a","group":"g","completion":"\\boxed{2/4}","task":{"type":"math","answer":"1/2"}}"#,
    "\n\nnot json\n",
    r#"{"id":"b","group":"g","completion":"\\boxed{3}","task":{"type":"math","answer":"1/2"}}"#,
    "\n",
    r#"{"id":"c","completion":"1","task":{"type":"math","answer":"1","tolerence":1}}"#,
    "\n",
    r#"{"id":"d","completion":"1","task":{"type":"riddle"}}"#,
    "\n",
);

#[test]
fn help_is_reviewed() {
    let folder = tempfile::tempdir().unwrap();
    let mut help = String::new();
    for command in [
        "", "serve", "grade", "check", "graders", "grades", "runs", "tail", "export", "channels",
        "policies", "models", "replay", "doctor",
    ] {
        let arguments: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        help.push_str(&format!(
            "$ assay {}\n{}\n",
            arguments.join(" "),
            text(&assay(folder.path(), &arguments).stdout)
        ));
    }
    insta::assert_snapshot!(help);
}

#[test]
fn every_line_has_its_result_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("items.jsonl"), ITEMS).unwrap();
    let output = assay(
        folder.path(),
        &["grade", "items.jsonl", "-o", "results.jsonl", "--jobs", "1"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = lines(&std::fs::read(folder.path().join("results.jsonl")).unwrap());
    let words: Vec<_> = results
        .iter()
        .map(|result| {
            result["verdict"]
                .as_str()
                .or(result["error"]["code"].as_str())
                .unwrap()
        })
        .collect();
    assert_eq!(
        words,
        [
            "correct",
            "malformed_json",
            "wrong_answer",
            "invalid_task",
            "unknown_grader"
        ]
    );
    let ids: Vec<_> = results.iter().map(|result| result["id"].as_str()).collect();
    assert_eq!(ids, [Some("a"), None, Some("b"), Some("c"), Some("d")]);
    assert_eq!(
        (&results[0]["advantage"], &results[2]["advantage"]),
        (&Value::from(0.5), &Value::from(-0.5))
    );
    let told = |at: usize| results[at]["error"]["message"].as_str().unwrap();
    assert!(told(1).starts_with("line 3: not JSON: "), "{}", told(1));
    assert!(told(3).starts_with("line 5: `/task/"), "{}", told(3));
    assert!(told(4).starts_with("line 6: `/task/type`: "), "{}", told(4));
    assert!(
        !folder.path().join("assay.db").exists(),
        "grading a file leaves no record unless asked"
    );
}

#[test]
fn items_at_odds_with_each_other_cost_no_other_line() {
    let folder = tempfile::tempdir().unwrap();
    let task = r#""completion":"1","task":{"type":"math","answer":"1"}"#;
    let items = [
        format!(r#"{{"id":"a","group":"g",{task}}}"#),
        format!(r#"{{"id":"b","group":"g",{task},"policy":{{"summary":"x"}}}}"#),
        format!(r#"{{"id":"c",{task},"checks":{{"brief":{{"type":"math"}}}}}}"#),
        format!(r#"{{"id":"d",{task}}}"#),
    ];
    std::fs::write(folder.path().join("items.jsonl"), items.join("\n")).unwrap();
    let (_server, base) = serve(folder.path());
    for way in [&[][..], &["--server", &base]] {
        let output = assay(folder.path(), &[&["grade", "items.jsonl"], way].concat());
        let results = lines(&output.stdout);
        let outcomes: Vec<_> = results
            .iter()
            .map(|result| result["outcome"].as_str().unwrap())
            .collect();
        assert_eq!(
            outcomes,
            ["graded", "ungradable", "ungradable", "graded"],
            "{way:?} {}",
            text(&output.stderr)
        );
        let told = |at: usize| results[at]["error"]["message"].as_str().unwrap();
        assert!(told(1).starts_with("line 2: "), "{way:?} {}", told(1));
        assert!(
            told(2).starts_with("line 3: `/checks/brief`: "),
            "{way:?} {}",
            told(2)
        );
    }
    let huge = format!(
        r#"{{"id":"h","completion":"{}","task":{{"type":"math","answer":"1"}}}}"#,
        "x".repeat(49 << 20)
    );
    std::fs::write(
        folder.path().join("huge.jsonl"),
        [&items[3], &huge, &items[3]].map(String::as_str).join("\n"),
    )
    .unwrap();
    let results = lines(&assay(folder.path(), &["grade", "huge.jsonl", "--server", &base]).stdout);
    let told: Vec<_> = results
        .iter()
        .map(|result| result["error"]["code"].as_str())
        .collect();
    assert_eq!(told, [None, Some("body_too_large"), None]);
    let none = assay(
        folder.path(),
        &["export", "none.jsonl", "--server", &base, "--run", "absent"],
    );
    assert!(
        text(&none.stderr).contains("no grade of the record fits"),
        "{none:?}"
    );
    let away = assay(
        folder.path(),
        &["grade", "items.jsonl", "--server", "127.0.0.1:1"],
    );
    assert!(
        text(&away.stderr).contains("neither `http://` nor")
            || text(&away.stderr).contains("no URL"),
        "{away:?}"
    );
}

#[test]
fn rows_of_a_dataset_become_items_by_a_template() {
    let folder = tempfile::tempdir().unwrap();
    let rows = concat!(
        r#"{"id":7,"group":"r1","question":"6 times 7?","answer":"So.\n#### 42","completion":"It is \\boxed{42}."}"#,
        "\n",
        r#"{"question":"6 times 7?","answer":"So.\n#### 42","completion":"41"}"#,
        "\n",
        r#"{"question":"6 times 7?","completion":"42"}"#,
        "\n",
        r#"{"question":"6 times 7?","answer":"So.\n#### 42"}"#,
        "\n",
    );
    std::fs::write(folder.path().join("rows.jsonl"), rows).unwrap();
    let output = assay(
        folder.path(),
        &["grade", "rows.jsonl", "--template", "gsm8k"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = lines(&output.stdout);
    assert_eq!(
        (
            &results[0]["verdict"],
            &results[0]["id"],
            &results[0]["group"]
        ),
        (&"correct".into(), &"7".into(), &"r1".into())
    );
    assert_eq!(results[1]["verdict"], "wrong_answer");
    let told = |at: usize| results[at]["error"]["message"].as_str().unwrap();
    assert!(
        told(2).starts_with("line 3: `/answer`: the row lacks it"),
        "{}",
        told(2)
    );
    assert!(
        told(3).contains("line 4: ") && told(3).contains("completion"),
        "{}",
        told(3)
    );
}

#[test]
fn a_file_without_an_item_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let row = r#"{"question":"6 times 7?","answer":"So.\n#### 42"}"#;
    std::fs::write(folder.path().join("rows.jsonl"), [row, row].join("\n")).unwrap();
    for (way, reason) in [
        (
            &["--template", "gsm8k"][..],
            "line 1: `/completion`: the row lacks it; each row needs a `completion`",
        ),
        (&[][..], "line 1: missing field `completion`"),
    ] {
        let output = assay(folder.path(), &[&["grade", "rows.jsonl"], way].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("no line of `rows.jsonl` is an item that can be graded"),
            "{stderr}"
        );
        assert!(stderr.contains(reason), "{stderr}");
        let outcomes: Vec<_> = lines(&output.stdout)
            .iter()
            .map(|result| result["outcome"].clone())
            .collect();
        assert_eq!(outcomes, ["ungradable", "ungradable"]);
    }
}

#[test]
fn items_come_from_stdin_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["grade", "-"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(ITEMS.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(lines(&output.stdout).len(), 5);
}

#[test]
fn a_recorded_file_is_listed_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("items.jsonl"), ITEMS).unwrap();
    let grade = [
        "grade",
        "items.jsonl",
        "-o",
        "/dev/null",
        "--database",
        "sqlite://assay.db",
        "--run",
        "r",
        "--step",
        "4",
    ];
    assert!(assay(folder.path(), &grade).status.success());
    let output = assay(folder.path(), &["grades", "--run", "r", "--json"]);
    let grades = lines(&output.stdout);
    assert_eq!(
        grades.iter().map(|grade| &grade["id"]).collect::<Vec<_>>(),
        ["b", "a"]
    );
    let id = grades[0]["grade"].as_str().unwrap();
    let output = assay(folder.path(), &["replay", id]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("wrong_answer"),
        "{}",
        text(&output.stdout)
    );
    let runs = text(&assay(folder.path(), &["runs"]).stdout);
    let row: Vec<_> = runs.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["r", "4", "2", "2", "0", "0", "1", "0.5000"]);
}

#[test]
fn what_cannot_be_done_says_so_and_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], message: &str| refused(folder.path(), arguments, message);
    std::fs::write(folder.path().join("items.jsonl"), ITEMS).unwrap();
    refused(
        &["grade", "items.jsonl", "-o", "./items.jsonl"],
        "is the input",
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("items.jsonl")).unwrap(),
        ITEMS
    );
    refused(
        &["grade", "items.jsonl", "--run", "r"],
        "add `--database` or `--server`",
    );
    refused(
        &["grade", "items.jsonl", "--jobs", "100000"],
        "`engine.workers` is 0 (one a core) to 1024",
    );
    refused(&["grade", "absent.jsonl"], "cannot read `absent.jsonl`");
    refused(&["grades"], "there is no database at `assay.db`");
    assert!(
        !folder.path().join("assay.db").exists(),
        "reading creates nothing"
    );
    refused(
        &["replay", "nonsense", "--database", "sqlite::memory:"],
        "malformed id",
    );
    let absent = [
        "replay",
        "01JD5XW7P9V6F8K4M3N2Q1R0ST",
        "--database",
        "sqlite::memory:",
    ];
    refused(&absent, "no grade has the id `01JD5XW7P9V6F8K4M3N2Q1R0ST`");
    refused(
        &["serve", "--listen", "0.0.0.0:0"],
        "callers are not authenticated yet",
    );
    refused(
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database",
            "mysql://x",
        ],
        "mysql",
    );
    refused(&["serve", "--listen", "18082"], "such as `127.0.0.1:18082`");
    refused(
        &["models", "score", "items.jsonl", "-o", "./items.jsonl"],
        "is the input",
    );
    refused(
        &["models", "score", "items.jsonl", "--truncate", "middle"],
        "`--truncate` is one of",
    );
    refused(
        &["models", "score", "absent.jsonl"],
        "cannot read `absent.jsonl`",
    );
    refused(
        &[
            "models",
            "bench",
            "--shape",
            "qwen3-0.6b",
            "--lengths",
            "64,0",
        ],
        "a length is a number of tokens",
    );
    refused(&["models", "bench"], "--shape");
    refused(&["riddle"], "unrecognized subcommand");
    std::fs::write(folder.path().join("assay.toml"), "[engine]\nworker = 1\n").unwrap();
    refused(&["serve", "--print-config"], "unknown field `worker`");
}

#[test]
fn a_server_whose_port_is_taken_leaves_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let serve = [
        "serve",
        "--listen",
        &address,
        "--database",
        "sqlite://assay.db",
    ];
    refused(
        folder.path(),
        &serve,
        &format!("cannot listen on `{address}`"),
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn the_configuration_is_printed_as_it_would_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let output = assay(
        folder.path(),
        &["serve", "--print-config", "--listen", "127.0.0.1:9"],
    );
    assert!(text(&output.stdout).contains("listen = \"127.0.0.1:9\""));
}

#[test]
fn the_doctor_finds_every_grader_well() {
    let folder = tempfile::tempdir().unwrap();
    let output = assay(folder.path(), &["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        report["graders"]
            .as_array()
            .unwrap()
            .iter()
            .all(|grader| grader["healthy"] == true),
        "{report}"
    );
}

#[test]
fn a_reader_that_had_enough_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let items = ITEMS.lines().next().unwrap().to_owned() + "\n";
    std::fs::write(folder.path().join("items.jsonl"), items.repeat(20_000)).unwrap();
    let output = Command::new("sh")
        .args(["-c", "\"$ASSAY\" grade items.jsonl; echo $? >&2"])
        .env("ASSAY", env!("CARGO_BIN_EXE_assay"))
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map(|mut child| {
            drop(child.stdout.take());
            child.wait_with_output().unwrap()
        })
        .unwrap();
    assert_eq!(text(&output.stderr).trim(), "0");
}
