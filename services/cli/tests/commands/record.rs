//! Commands on the record: `replay`, `runs`, `export`, `tail` and `record set-aside`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::fixtures::{Running, assay, assert_fails, command, lines, record_items, serve, text};

/// The items of the golden cases of these graders.
fn cases(graders: &[&str]) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let read =
        |grader: &&str| std::fs::read_to_string(folder.join(format!("{grader}.jsonl"))).unwrap();
    let files: Vec<String> = graders.iter().map(read).collect();
    // Some cases contain numbers beyond the range of a float on purpose; `serde_json` rejects them.
    let item = |line: &str| {
        let mut item: Value = serde_json::from_str(line).ok()?;
        item.as_object_mut()
            .unwrap()
            .retain(|key, _| ["task", "prompt", "completion", "meta"].contains(&key.as_str()));
        Some(item.to_string())
    };
    // Tasks without a gold need a policy.
    let has_gold = |line: &&str| !line.contains("\"consensus\": true");
    files
        .iter()
        .flat_map(|file| file.lines())
        .filter(has_gold)
        .filter_map(item)
        .collect()
}

/// Records these items under the run `r` in a new folder.
fn recorded(items: &[String]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("items.jsonl"), items.join("\n")).unwrap();
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
    let output = assay(folder.path(), &grade);
    assert!(output.status.success(), "{}", text(&output.stderr));
    folder
}

#[test]
fn replay_of_all_graders_has_no_flips() {
    // The suite repeats all cases by their receipts.
    let items = cases(&["math", "code", "sql", "tools", "structured"]);
    let items: Vec<String> = items.into_iter().step_by(3).collect();
    let folder = recorded(&items);
    let output = assay(
        folder.path(),
        &["replay", "--run", "r", "--expect", "math@2", "--json"],
    );
    let replayed = lines(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{replayed:?} {}",
        text(&output.stderr)
    );
    assert_eq!(replayed.len(), 1, "only the summary is printed");
    assert_eq!(
        (
            &replayed[0]["flipped"],
            replayed[0]["items"].as_u64().unwrap() > 500
        ),
        (&0.into(), true),
        "{replayed:?}"
    );
    assert!(
        replayed[0]["graders"].as_array().unwrap().len() >= 5,
        "{replayed:?}"
    );
    assert_eq!(replayed[0]["missing"], serde_json::json!({}));
}

#[test]
fn compares_two_runs_and_lists_grades_by_step_verdict_and_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let item = |key: &str, completion: &str| {
        let task = serde_json::json!({ "type": "math", "answer": "4" });
        serde_json::json!({ "prompt_key": key, "completion": completion, "task": task }).to_string()
    };
    for (run, step, answers) in [("base", "1", ["4", "5"]), ("tuned", "7", ["4", "4"])] {
        let items = ["easy", "hard"].iter().zip(answers);
        let items: Vec<String> = items
            .map(|(key, answer)| item(key, &format!("\\boxed{{{answer}}}")))
            .collect();
        record_items(folder.path(), &items, run, step);
    }
    let output = assay(folder.path(), &["compare", "base", "tuned"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    insta::assert_snapshot!("compare", text(&output.stdout));
    let output = assay(folder.path(), &["compare", "base", "tuned", "--json"]);
    let compared: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(compared["prompts"]["flipped"][0]["prompt_key"], "hard");
    assert_fails(
        folder.path(),
        &["compare", "base", "tune"],
        "no run named `tune`; did you mean `tuned`?",
    );

    let grades = |options: &[&str]| {
        let output = assay(folder.path(), &[&["grades", "--json"], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        lines(&output.stdout).len()
    };
    assert_eq!(grades(&["--step-min", "2"]), 2);
    assert_eq!(
        grades(&["--step-max", "6", "--verdict", "correct,wrong_answer"]),
        2
    );
    assert_eq!(grades(&["--run", "base", "--prompt", "hard"]), 1);
    assert_eq!(grades(&["--verdict", "wrong_answer"]), 1);
}

#[test]
fn replay_with_an_option_lists_changed_verdicts() {
    let item = |completion: &str| {
        format!(r#"{{"completion":"{completion}","task":{{"type":"math","answer":"3.14"}}}}"#)
    };
    let folder = recorded(&[
        item(r"\\boxed{3.14}"),
        item(r"\\boxed{3.1401}"),
        item(r"\\boxed{4}"),
        item("nothing"),
    ]);
    let output = assay(
        folder.path(),
        &[
            "replay",
            "--run",
            "r",
            "--option",
            r#"tolerance={"absolute":0.01}"#,
        ],
    );
    let table = text(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{table} {}",
        text(&output.stderr)
    );
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows[1][2..],
        ["wrong_answer", "0", "math@2", "correct", "1", "flipped"],
        "{table}"
    );
    assert!(
        table.contains("recorded math@2, replayed math@2: 4 items, 1 flipped"),
        "{table}"
    );
    assert!(rows.contains(&vec!["wrong_answer", "1", "2"]), "{table}");

    let unchanged = assay(
        folder.path(),
        &["replay", "--run", "r", "--verdict", "wrong_answer"],
    );
    assert_eq!(unchanged.status.code(), Some(0));
    assert!(
        text(&unchanged.stdout).starts_with("recorded math@2, replayed math@2: 3 items, 0 flipped")
    );
}

#[test]
fn sample_of_a_run_depends_only_on_the_seed() {
    let items: Vec<String> = cases(&["tools"]);
    let folder = recorded(&items);
    let draw = |seed: &str| {
        let sample = [
            "replay", "--run", "r", "--sample", "7", "--seed", seed, "--json",
        ];
        let output = assay(folder.path(), &sample);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        lines(&output.stdout).pop().unwrap()
    };
    let one = draw("1");
    assert_eq!(one["items"], 7);
    assert_eq!(one, draw("1"));
}

#[test]
fn rejects_replays_with_missing_or_conflicting_options() {
    let folder = recorded(&cases(&["tools"])[..3]);
    let assert_fails =
        |arguments: &[&str], message: &str| assert_fails(folder.path(), arguments, message);
    assert_fails(&["replay"], "or a run with `--run NAME`");
    assert_fails(
        &["replay", "--verdict", "correct"],
        "or a run with `--run NAME`",
    );
    assert_fails(
        &["replay", "01JD5XW7P9V6F8K4M3N2Q1R0ST", "--run", "r"],
        "cannot be used with",
    );
    assert_fails(&["replay", "--run", "absent"], "no run named `absent`");
    assert_fails(
        &["replay", "--run", "r", "--verdict", "wrong_answer"],
        "no grade of the run `r` matches",
    );
    assert_fails(
        &["replay", "--run", "r", "--expect", "tools@99"],
        "expected `tools@99`",
    );
    assert_fails(
        &["replay", "--run", "r", "--expect", "riddle@1"],
        "no grader `riddle`",
    );
    assert_fails(
        &["replay", "--run", "r", "--option", "tolerence=1"],
        "unknown field `tolerence`",
    );
    assert_fails(
        &["replay", "--run", "r", "--option", "tolerance"],
        "a field and its value",
    );
    assert_fails(&["runs", "absent"], "no run named `absent`");
    assert_fails(&["export", "grades.txt"], "cannot determine the format");
    assert_fails(
        &["export", "absent/grades.csv"],
        "cannot write `absent/grades.csv`",
    );
}

#[test]
fn rejects_names_that_select_nothing() {
    let folder = recorded(&cases(&["math"])[..3]);
    let folder = folder.path();
    let cases = [
        (
            "--verdict",
            "wrong_anser",
            "unknown verdict `wrong_anser`; did you mean `wrong_answer`?",
        ),
        (
            "--verdict",
            "nope",
            "unknown verdict `nope`; `GET /v1/graders` lists",
        ),
        (
            "--grader",
            "mth",
            "unknown grader `mth`; did you mean `math`?",
        ),
        (
            "--channel",
            "mth/default",
            "unknown grader `mth` of the channel `mth/default`",
        ),
        (
            "--outcome",
            "wrong",
            "unknown outcome `wrong`; expected one of `graded`, `ungradable`",
        ),
        (
            "--appeal",
            "overturnd",
            "unknown appeal `overturnd`; did you mean `overturned`?",
        ),
        ("--run", "rr", "no run named `rr`; `assay runs` and"),
    ];
    let commands: [&[&str]; 2] = [&["grades"], &["export", "grades.csv"]];
    let check = |arguments: &[&str]| {
        for (option, value, message) in cases {
            for command in commands {
                assert_fails(
                    folder,
                    &[command, &[option, value], arguments].concat(),
                    message,
                );
            }
        }
        assert!(!folder.join("grades.csv").exists());
        // A known name without grades is not an error.
        let arguments = [&["grades", "--verdict", "time_limit"], arguments].concat();
        let output = assay(folder, &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_fails(
            folder,
            &[
                &["channels", "draw", "--channel", "math/defalt"],
                &arguments[3..],
            ]
            .concat(),
            "no counts for channel `math/defalt`; available: `math/default`",
        );
    };
    check(&[]);
    let (_server, base) = serve(folder);
    check(&["--server", &base]);
    assert_fails(
        folder,
        &["tail", "--verdict", "nope", "--server", &base],
        "unknown verdict `nope`",
    );
}

#[test]
fn commands_work_through_the_server_of_the_variable() {
    let folder = recorded(&cases(&["math"])[..3]);
    let folder = folder.path();
    let item = r#"{"completion":"\\boxed{2}","task":{"type":"math","answer":"2"}}"#;
    std::fs::write(folder.join("one.jsonl"), item).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::copy(folder.join("one.jsonl"), elsewhere.path().join("one.jsonl")).unwrap();
    let (_server, base) = serve(folder);
    let prepared = |server: &str, arguments: &[&str]| {
        let mut command = command(elsewhere.path());
        command.env("ASSAY_SERVER", server).args(arguments);
        command
    };
    let run = |server: &str, arguments: &[&str]| prepared(server, arguments).output().unwrap();
    // No command has a database or a server of the configuration here.
    let commands: [&[&str]; 11] = [
        &["grade", "one.jsonl", "--run", "remote"],
        &["grades", "--run", "remote"],
        &["runs", "remote"],
        &["annotate", "remote", "--note", "x"],
        &["export", "grades.csv"],
        &["channels"],
        &["policies"],
        &["models"],
        &["replay", "--run", "r"],
        &["audit"],
        &["prune", "--run", "remote", "--dry-run"],
    ];
    // They wait for a server that does not answer, all at the same time.
    let refused = commands.map(|arguments| {
        let mut refused = prepared("http://127.0.0.1:1", arguments);
        Running(refused.stderr(Stdio::null()).spawn().unwrap())
    });
    for arguments in commands {
        let output = run(&base, &[arguments, &["--strict"]].concat());
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
    for (mut refused, arguments) in refused.into_iter().zip(commands) {
        let status = refused.0.wait().unwrap();
        assert!(!status.success(), "{arguments:?} does not use the variable");
    }
    // Options that name another place or require this process come first.
    let local: [&[&str]; 5] = [
        &["grade", "one.jsonl", "--jobs", "1"],
        &[
            "grade",
            "one.jsonl",
            "--database",
            "sqlite://assay.db",
            "--run",
            "local",
        ],
        &["grades", "--database", "sqlite://assay.db"],
        &["runs", "local", "--database", "sqlite://assay.db"],
        &["grades", "--server", &base],
    ];
    for arguments in local {
        let output = run("http://127.0.0.1:1", arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
    let empty = run("", &["grade", "one.jsonl"]);
    assert!(empty.status.success(), "an empty variable names no server");
}

#[test]
fn summarises_a_run_by_grader_and_step() {
    let mut items = cases(&["structured"])[..20].to_vec();
    items.push(r#"{"completion":"1","task":{"type":"math","answer":"\\frac{"}}"#.to_owned());
    let folder = recorded(&items);
    let output = assay(folder.path(), &["runs", "r", "--json"]);
    let detail: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&detail["run"], &detail["grades"]),
        (&"r".into(), &21.into())
    );
    let graders: Vec<&str> = detail["graders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|grader| grader["grader"].as_str().unwrap())
        .collect();
    assert_eq!(graders, ["math@2", "structured@2"]);
    assert_eq!(
        (&detail["steps"][0]["step"], &detail["steps"][1]["grades"]),
        (&4.into(), &20.into())
    );
    assert_eq!(
        detail["causes"],
        serde_json::json!([{ "code": "gold_unparsable", "grades": 1 }])
    );
    let table = text(&assay(folder.path(), &["runs", "r"]).stdout);
    for head in ["GRADER", "VERDICT", "CAUSE OF NO SCORE", "STEP"] {
        assert!(
            table
                .lines()
                .any(|line| line.starts_with(head) || line.contains(head)),
            "{table}"
        );
    }
}

#[test]
fn annotates_and_lists_runs() {
    let folder = recorded(&cases(&["text"])[..2]);
    let annotate = |arguments: &[&str]| {
        let output = assay(folder.path(), &[&["annotate", "r"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    annotate(&["--tags", "base, v2"]);
    let shown = annotate(&["--note", "a note", "--archive"]);
    assert_eq!(shown, "tags: base v2\nnote: a note\narchived: yes\n");
    let listed = |arguments: &[&str]| {
        let output = assay(folder.path(), &[&["runs", "--json"], arguments].concat());
        let runs = lines(&output.stdout).into_iter();
        runs.map(|run| run["run"].clone()).collect::<Vec<_>>()
    };
    assert!(listed(&[]).is_empty());
    assert_eq!(listed(&["--archived", "--tag", "base"]), ["r"]);
    annotate(&["--restore", "--tags", ""]);
    assert_eq!(listed(&["--search", "NOTE", "--sort", "name"]), ["r"]);
    assert!(listed(&["--tag", "base"]).is_empty());
    let audit = text(&assay(folder.path(), &["audit", "--json"]).stdout);
    assert_eq!(audit.matches("run.annotate").count(), 3, "{audit}");

    let fails = |arguments: &[&str], message| assert_fails(folder.path(), arguments, message);
    fails(&["annotate", "r"], "nothing to change");
    fails(&["annotate", "r", "--tags", "A"], "a tag must have");
    fails(
        &["annotate", "absent", "--note", "x"],
        "no run named `absent`",
    );
    fails(&["runs", "--sort", "nam"], "did you mean `name`?");
}

#[test]
fn exports_every_grade_once() {
    // More than one page.
    let items: Vec<String> = (0..1_300)
        .map(|n| {
            format!(
                r#"{{"id":"i{n}","completion":"\\boxed{{{n}}}","task":{{"type":"math","answer":"7"}}}}"#
            )
        })
        .collect();
    let folder = recorded(&items);
    for file in ["all.jsonl", "all.csv", "all.parquet"] {
        let output = assay(folder.path(), &["export", file, "--run", "r"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let rows = lines(&std::fs::read(folder.path().join("all.jsonl")).unwrap());
    let ids: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!((rows.len(), ids.len()), (1_300, 1_300));
    let listed = lines(&assay(folder.path(), &["grades", "--json", "--limit", "1000"]).stdout);
    assert_eq!(rows[..1_000], listed[..], "the same rows in the same order");

    let table = std::fs::read_to_string(folder.path().join("all.csv")).unwrap();
    assert_eq!(table.lines().count(), 1_301);
    let columns = std::fs::File::open(folder.path().join("all.parquet")).unwrap();
    let reader = parquet::file::serialized_reader::SerializedFileReader::new(columns).unwrap();
    let exported: Vec<String> = parquet::file::reader::FileReader::get_row_iter(&reader, None)
        .unwrap()
        .map(|row| {
            parquet::record::RowAccessor::get_string(&row.unwrap(), 0)
                .unwrap()
                .clone()
        })
        .collect();
    let grades: Vec<&str> = rows
        .iter()
        .map(|row| row["grade"].as_str().unwrap())
        .collect();
    assert_eq!(exported, grades);

    let none = assay(
        folder.path(),
        &[
            "export",
            "-",
            "--format",
            "jsonl",
            "--verdict",
            "time_limit",
        ],
    );
    assert_eq!(none.status.code(), Some(0));
    assert!(
        none.stdout.is_empty()
            && text(&none.stderr).contains("no recorded grade matches the options"),
        "{none:?}"
    );
    let output = assay(
        folder.path(),
        &["export", "-", "--format", "jsonl", "--verdict", "correct"],
    );
    assert_eq!(lines(&output.stdout).len(), 1);
    let limited = assay(
        folder.path(),
        &["export", "-", "--format", "csv", "--limit", "1100"],
    );
    assert_eq!(text(&limited.stdout).lines().count(), 1_101);
    let temporary: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .filter(|file| {
            file.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .ends_with(".part")
        })
        .collect();
    assert!(temporary.is_empty(), "{temporary:?}");
}

#[test]
fn tail_prints_new_grades_until_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, base) = serve(folder.path());
    let post = |name: &str, run: &str| {
        let item =
            format!(r#"{{"id":"{name}","completion":"1","task":{{"type":"math","answer":"1"}}}}"#);
        std::fs::write(folder.path().join("item.jsonl"), item).unwrap();
        let output = assay(
            folder.path(),
            &[
                "grade",
                "item.jsonl",
                "-o",
                "/dev/null",
                "--server",
                &base,
                "--run",
                run,
            ],
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    post("before", "r");
    let mut tail = Running(
        Command::new(env!("CARGO_BIN_EXE_assay"))
            .args(["tail", "--server", &base, "--run", "r", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut out = BufReader::new(tail.0.stdout.take().unwrap());
    let next = |out: &mut BufReader<ChildStdout>| {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(next(&mut out), "before");
    post("of another run", "other");
    post("first", "r");
    assert_eq!(next(&mut out), "first");
    post("second", "r");
    assert_eq!(next(&mut out), "second");
    tail.signal(Signal::INT);
    assert_eq!(tail.0.wait().unwrap().code(), Some(130));

    let mut tail = Running(
        Command::new(env!("CARGO_BIN_EXE_assay"))
            .args(["tail", "--server", &base, "--run", "r", "--lines", "1"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut out = BufReader::new(tail.0.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let head = out.next().unwrap();
    assert!(
        head.starts_with("GRADE") && head.ends_with("REASON"),
        "{head}"
    );
    let row = out.next().unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        cells[2..12],
        [
            "local",
            "r",
            "-",
            "second",
            "math/default",
            "math@2",
            "correct",
            "1",
            "-",
            "1",
        ],
        "{row}"
    );
    // The reason is a sentence in the last column.
    let reason = cells[head.split_whitespace().count() - 1..].join(" ");
    assert_eq!(reason, "the answer has the same text", "{row}");
}

#[test]
fn lists_and_retries_entries_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["record", "set-aside", "--database", "sqlite://assay.db"];
    assert_fails(folder.path(), &arguments, "no database at `assay.db`");
    std::fs::write(
        folder.path().join("items.jsonl"),
        r#"{"completion":"1","task":{"type":"math","answer":"1"}}"#,
    )
    .unwrap();
    let grade = [
        "grade",
        "items.jsonl",
        "-o",
        "/dev/null",
        "--database",
        "sqlite://assay.db",
    ];
    assert!(assay(folder.path(), &grade).status.success());
    let none = assay(folder.path(), &arguments);
    assert!(
        none.status.success() && text(&none.stdout).contains("no entries are set aside"),
        "{none:?}"
    );

    let aside = folder.path().join("assay.db.spool/set-aside");
    std::fs::create_dir_all(&aside).unwrap();
    let note =
        r#"{"reason":"no such item","batch":"01JD5XW7P9V6F8K4M3N2Q1R0ST","grades":2,"time_us":7}"#;
    std::fs::write(
        aside.join("00000001-0000000032.entry"),
        format!("{note}\nnot a frame"),
    )
    .unwrap();
    let listed = assay(folder.path(), &arguments);
    assert!(listed.status.success(), "{listed:?}");
    for cell in [
        "00000001-0000000032",
        "01JD5XW7P9V6F8K4M3N2Q1R0ST",
        "no such item",
    ] {
        assert!(text(&listed.stdout).contains(cell), "{listed:?}");
    }
    let tried = assay(
        folder.path(),
        &[&arguments[..], &["--apply", "--json"]].concat(),
    );
    assert_eq!(tried.status.code(), Some(1), "{tried:?}");
    let tried = lines(&tried.stdout);
    assert_eq!(
        (&tried[0]["applied"], &tried[0]["grades"]),
        (&Value::from(false), &Value::from(2))
    );
    assert!(
        tried[0]["error"].as_str().unwrap().contains("damaged"),
        "{tried:?}"
    );

    let (_server, _) = serve(folder.path());
    assert_fails(
        folder.path(),
        &arguments,
        "stop the server that uses it first",
    );
}
