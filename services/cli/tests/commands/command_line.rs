//! Behaviour of the command line: help, `grade`, exit codes and error messages.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixtures::{assay, assert_fails, lines, serve, text};

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
        "",
        "serve",
        "grade",
        "check",
        "templates",
        "graders",
        "grades",
        "show",
        "runs",
        "annotate",
        "compare",
        "tail",
        "export",
        "channels",
        "policies",
        "models",
        "jobs",
        "sessions",
        "replay",
        "doctor",
        "completions",
        "man",
    ] {
        let arguments: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|argument| !argument.is_empty())
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
fn writes_one_result_per_line_in_order() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("items.jsonl"), ITEMS).unwrap();
    let output = assay(
        folder.path(),
        &["grade", "items.jsonl", "-o", "results.jsonl", "--jobs", "1"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = lines(&std::fs::read(folder.path().join("results.jsonl")).unwrap());
    let verdicts_or_errors: Vec<_> = results
        .iter()
        .map(|result| {
            result["verdict"]
                .as_str()
                .or(result["error"]["code"].as_str())
                .unwrap()
        })
        .collect();
    assert_eq!(
        verdicts_or_errors,
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
    let error = |at: usize| results[at]["error"]["message"].as_str().unwrap();
    assert!(
        error(1).starts_with("line 3: invalid JSON: "),
        "{}",
        error(1)
    );
    assert!(error(3).starts_with("line 5: `/task/"), "{}", error(3));
    assert!(
        error(4).starts_with("line 6: `/task/type`: "),
        "{}",
        error(4)
    );
    assert!(
        !folder.path().join("assay.db").exists(),
        "grading a file records nothing by default"
    );
}

#[test]
fn invalid_items_do_not_affect_other_lines() {
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
    for options in [&[][..], &["--server", &base]] {
        let output = assay(
            folder.path(),
            &[&["grade", "items.jsonl"], options].concat(),
        );
        let results = lines(&output.stdout);
        let outcomes: Vec<_> = results
            .iter()
            .map(|result| result["outcome"].as_str().unwrap())
            .collect();
        assert_eq!(
            outcomes,
            ["graded", "ungradable", "ungradable", "graded"],
            "{options:?} {}",
            text(&output.stderr)
        );
        let error = |at: usize| results[at]["error"]["message"].as_str().unwrap();
        assert!(error(1).starts_with("line 2: "), "{options:?} {}", error(1));
        assert!(
            error(2).starts_with("line 3: `/checks/brief`: "),
            "{options:?} {}",
            error(2)
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
    let codes: Vec<_> = results
        .iter()
        .map(|result| result["error"]["code"].as_str())
        .collect();
    assert_eq!(codes, [None, Some("body_too_large"), None]);
    let none = assay(
        folder.path(),
        &["export", "none.jsonl", "--server", &base, "--run", "absent"],
    );
    assert!(
        none.status.code() == Some(2) && text(&none.stderr).contains("no run named `absent`"),
        "{none:?}"
    );
    let malformed = assay(
        folder.path(),
        &["grade", "items.jsonl", "--server", "127.0.0.1:1"],
    );
    assert!(
        text(&malformed.stderr).contains("invalid server URL `127.0.0.1:1`"),
        "{malformed:?}"
    );
}

#[test]
fn template_makes_items_of_dataset_rows() {
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
    let error = |at: usize| results[at]["error"]["message"].as_str().unwrap();
    assert!(
        error(2).starts_with("line 3: `/answer`: missing column"),
        "{}",
        error(2)
    );
    assert!(
        error(3).contains("line 4: ") && error(3).contains("completion"),
        "{}",
        error(3)
    );
}

#[test]
fn file_without_items_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    for content in ["", "\n \n"] {
        std::fs::write(folder.path().join("items.jsonl"), content).unwrap();
        for options in [&[][..], &["--template", "gsm8k"]] {
            let output = assay(
                folder.path(),
                &[&["grade", "items.jsonl"], options].concat(),
            );
            assert_eq!(output.status.code(), Some(1));
            assert_eq!(text(&output.stderr), "assay: `items.jsonl` has no items\n");
        }
    }
}

#[test]
fn errors_in_a_file_have_one_position() {
    let folder = tempfile::tempdir().unwrap();
    let broken = "{\"completion\": \"ü\", \"label\": tru, \"question\": 1}";
    std::fs::write(folder.path().join("lines.jsonl"), format!("\n{broken}\n")).unwrap();
    std::fs::write(
        folder.path().join("template.json"),
        "{\"type\": \"math\",\n \"answer\": }",
    )
    .unwrap();
    for (arguments, message) in [
        (
            &["grade", "lines.jsonl"][..],
            "line 2: invalid JSON: expected ident at column 33",
        ),
        (
            &["grade", "lines.jsonl", "--template", "gsm8k"],
            "line 2: the row is not an object with its columns: expected ident at column 33",
        ),
        (
            &["channels", "calibrate", "lines.jsonl", "--dry-run"],
            "line 2 of `lines.jsonl`: `label` must be true or false: expected ident at column 33",
        ),
        (
            &["check", "template.json", "--rollouts", "lines.jsonl"],
            "line 2 of `lines.jsonl` is not a result of `assay grade`: expected ident at column 33",
        ),
        (
            &["templates", "template.json"],
            "`template.json`: the template is not JSON: expected value at line 2 column 12",
        ),
    ] {
        let output = assay(folder.path(), arguments);
        let error = text(&output.stderr);
        assert!(
            error.ends_with(&format!("{message}\n")),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn file_without_valid_items_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let row = r#"{"question":"6 times 7?","answer":"So.\n#### 42"}"#;
    std::fs::write(folder.path().join("rows.jsonl"), [row, row].join("\n")).unwrap();
    for (options, reason) in [
        (
            &["--template", "gsm8k"][..],
            "line 1: `/completion`: missing column; each row needs the text to grade",
        ),
        (&[][..], "line 1: missing field `completion`"),
    ] {
        let output = assay(folder.path(), &[&["grade", "rows.jsonl"], options].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("no line of `rows.jsonl` is a valid item"),
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
fn writes_the_chosen_fields() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("items.jsonl"), ITEMS).unwrap();
    let (_server, base) = serve(folder.path());
    for options in [&[][..], &["--server", &base]] {
        let arguments = ["grade", "items.jsonl", "--fields", "verdict,reward"];
        let output = assay(folder.path(), &[&arguments, options].concat());
        let stdout = text(&output.stdout);
        let lines: Vec<&str> = stdout.lines().collect();
        assert_eq!(lines.len(), 5, "{stdout}");
        assert_eq!(
            [lines[0], lines[2]],
            [
                r#"{"verdict":"correct","reward":1.0}"#,
                r#"{"verdict":"wrong_answer","reward":0.0}"#
            ]
        );
        for line in [1, 3, 4] {
            let result: Value = serde_json::from_str(lines[line]).unwrap();
            let keys: Vec<_> = result.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["error", "outcome", "reward", "verdict"]);
            assert_eq!(result["outcome"], "ungradable");
        }
    }
    assert_fails(
        folder.path(),
        &["grade", "items.jsonl", "--fields", "rewards"],
        "`--fields`: results have no key `rewards`; did you mean `reward`?",
    );
}

#[test]
fn explains_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let items = [
        r#"{"id":"a","completion":"\\boxed{3}","task":{"type":"math","answer":"1/2"}}"#,
        "not json",
        r#"{"completion":"yes","task":{"type":"text","answer":"no"},"checks":{"value":{"type":"math","answer":"yes"}}}"#,
    ];
    std::fs::write(folder.path().join("items.jsonl"), items.join("\n")).unwrap();
    let output = assay(folder.path(), &["grade", "items.jsonl", "--explain"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    insta::assert_snapshot!(text(&output.stdout));
    for option in [["--server", "http://127.0.0.1:1"], ["--fields", "reward"]] {
        let arguments = [&["grade", "items.jsonl", "--explain"][..], &option].concat();
        assert_fails(folder.path(), &arguments, "cannot be used with");
    }
}

#[test]
fn one_batch_has_groups_of_items_that_are_far_apart() {
    let folder = tempfile::tempdir().unwrap();
    let item = |at: usize| {
        let (group, completion) = (at % 3_000, at / 3_000);
        format!(
            r#"{{"group":"{group}","completion":"{completion}","task":{{"type":"math","answer":"1"}}}}"#
        )
    };
    let items: Vec<String> = (0..6_000).map(item).collect();
    std::fs::write(folder.path().join("items.jsonl"), items.join("\n")).unwrap();
    let arguments = [
        "grade",
        "items.jsonl",
        "--one-batch",
        "--fields",
        "advantage",
    ];
    let output = assay(folder.path(), &arguments);
    let results = lines(&output.stdout);
    assert_eq!(results.len(), 6_000, "{}", text(&output.stderr));
    let (first, second) = results.split_at(3_000);
    assert!(first.iter().all(|result| result["advantage"] == -0.5));
    assert!(second.iter().all(|result| result["advantage"] == 0.5));

    let many = format!("{}\n", item(1)).repeat(65_537);
    std::fs::write(folder.path().join("items.jsonl"), many).unwrap();
    assert_fails(folder.path(), &arguments, "more than 65536 items");
}

#[test]
fn reads_items_from_stdin() {
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
fn lists_and_replays_recorded_grades() {
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
    assert_eq!(row[..8], ["r", "4", "2", "2", "0", "0", "1", "0.5000"]);
}

#[test]
fn errors_exit_with_2_and_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let assert_fails =
        |arguments: &[&str], message: &str| assert_fails(folder.path(), arguments, message);
    std::fs::write(folder.path().join("items.jsonl"), ITEMS).unwrap();
    assert_fails(
        &["grade", "items.jsonl", "-o", "./items.jsonl"],
        "is the input",
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("items.jsonl")).unwrap(),
        ITEMS
    );
    assert_fails(
        &["grade", "items.jsonl", "--run", "r"],
        "add `--database` or `--server`",
    );
    assert_fails(
        &["grade", "items.jsonl", "--jobs", "100000"],
        "`engine.workers` must be between 0 (one per core) and 1024",
    );
    assert_fails(&["grade", "absent.jsonl"], "cannot read `absent.jsonl`");
    let absent = ["grades", "--database", "sqlite://assay.db"];
    assert_fails(&absent, "no database at `assay.db`");
    for option in ["--score-min", "--score-max"] {
        assert_fails(&["grades", option, "nan"], "not a number");
    }
    for run in [".", "..", "a\nb"] {
        let local = [
            "grade",
            "items.jsonl",
            "--run",
            run,
            "--database",
            "sqlite://assay.db",
        ];
        assert_fails(&local, "choose another name");
        let server = ["runs", run, "--server", "http://127.0.0.1:1"];
        assert_fails(&server, "cannot be part of a URL");
    }
    assert!(
        !folder.path().join("assay.db").exists(),
        "reading does not create a database"
    );
    assert_fails(
        &["replay", "nonsense", "--database", "sqlite::memory:"],
        "malformed id",
    );
    let absent = [
        "replay",
        "01JD5XW7P9V6F8K4M3N2Q1R0ST",
        "--database",
        "sqlite::memory:",
    ];
    assert_fails(&absent, "no grade has the id `01JD5XW7P9V6F8K4M3N2Q1R0ST`");
    assert_fails(
        &["serve", "--listen", "0.0.0.0:0", "--database", ""],
        "callers of `0.0.0.0:0` need keys",
    );
    assert_fails(
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database",
            "mysql://x",
        ],
        "mysql",
    );
    assert_fails(&["serve", "--listen", "18082"], "such as `127.0.0.1:18082`");
    assert_fails(
        &["models", "score", "items.jsonl", "-o", "./items.jsonl"],
        "is the input",
    );
    assert_fails(
        &["models", "score", "items.jsonl", "--truncate", "middle"],
        "`--truncate` must be",
    );
    assert_fails(
        &["models", "score", "absent.jsonl"],
        "cannot read `absent.jsonl`",
    );
    assert_fails(
        &[
            "models",
            "bench",
            "--shape",
            "qwen3-0.6b",
            "--lengths",
            "64,0",
        ],
        "invalid length `0`: use a number of tokens, `mixed`, or tokens of prompts",
    );
    assert_fails(&["models", "bench"], "--shape");
    assert_fails(&["riddle"], "unrecognized subcommand");
    std::fs::write(folder.path().join("assay.toml"), "[engine]\nworker = 1\n").unwrap();
    assert_fails(&["serve", "--print-config"], "unknown field `worker`");
}

#[test]
fn server_on_a_used_port_creates_no_record() {
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
    assert_fails(
        folder.path(),
        &serve,
        &format!("cannot listen on `{address}`"),
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "no files are created"
    );
}

#[test]
fn prints_the_effective_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let output = assay(
        folder.path(),
        &["serve", "--print-config", "--listen", "127.0.0.1:9"],
    );
    assert!(text(&output.stdout).contains("listen = \"127.0.0.1:9\""));
}

#[test]
fn doctor_reports_every_grader_as_healthy() {
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
fn closed_stdout_is_not_an_error() {
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
