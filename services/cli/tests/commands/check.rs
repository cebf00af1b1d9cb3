//! `assay check`, as it is typed, on the datasets of `tests/datasets`: rows without a fault, and
//! the same with faults planted, each row of which says under `planted` what it is.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::fixtures::{assay, serve, text};

/// Each dataset and how its rows become tasks.
const DATASETS: &[(&str, &[&str])] = &[
    ("maths", &["--template", "gsm8k"]),
    ("programs", &["--template", "mbpp-sanitized"]),
    ("queries", &[]),
    ("calls", &[]),
];

fn datasets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/datasets")
}

/// The JSON report of a check, which ended with this code.
fn report(code: i32, arguments: &[&str]) -> Value {
    let output = assay(
        &datasets(),
        &[&["check", "--format", "json"], arguments].concat(),
    );
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Lines and codes of findings.
fn found(report: &Value) -> BTreeSet<(u64, String)> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            (
                finding["line"].as_u64().unwrap(),
                finding["code"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

/// Lines and codes of what was planted.
fn planted(file: &str) -> BTreeSet<(u64, String)> {
    let text = std::fs::read_to_string(datasets().join(file)).unwrap();
    let code = |line: &str| {
        Some(
            line.split_once(r#""planted": ""#)?
                .1
                .split_once('"')?
                .0
                .to_owned(),
        )
    };
    (1..)
        .zip(text.lines())
        .filter_map(|(number, line)| Some((number, code(line)?)))
        .collect()
}

/// Options under which every planted fault of a file shows.
fn looking(file: &str) -> Vec<&'static str> {
    let rolled = std::fs::read_to_string(datasets().join(file))
        .unwrap()
        .contains("\"rolls\"");
    let rollouts: &[&str] = if rolled {
        &["--rollouts", "rolls"]
    } else {
        &[]
    };
    [&["--against", "benchmark.jsonl"], rollouts].concat()
}

#[test]
fn no_row_without_a_fault_is_told() {
    for (name, template) in DATASETS {
        let file = format!("{name}.jsonl");
        let report = report(0, &[&[file.as_str()], *template, &looking(&file)].concat());
        assert_eq!(found(&report), BTreeSet::new(), "{name}");
    }
}

#[test]
fn every_planted_fault_is_told_and_nothing_else() {
    for (name, template) in DATASETS {
        let file = format!("{name}-planted.jsonl");
        let report = report(1, &[&[file.as_str()], *template, &looking(&file)].concat());
        assert_eq!(found(&report), planted(&file), "{name}: {report:#}");
    }
}

/// Codes that need more than a row: a grader that wavers, and a row that is heavier than a small
/// dataset should have. The tests of `assay-check` plant them.
const ELSEWHERE: &[&str] = &["flaky", "work-outlier", "empty-accepted"];

#[test]
fn every_code_is_planted() {
    let files = DATASETS
        .iter()
        .map(|(name, _)| planted(&format!("{name}-planted.jsonl")));
    let planted: BTreeSet<String> = files.flatten().map(|(_, code)| code).collect();
    for code in assay_check::findings::ALL {
        let elsewhere = ELSEWHERE.contains(&code.name);
        assert_ne!(
            planted.contains(code.name),
            elsewhere,
            "`{}` is planted nowhere, or in two places",
            code.name
        );
    }
}

#[test]
fn what_a_baseline_knows_and_what_is_ignored_is_not_told() {
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("known.json");
    let base = ["queries-planted.jsonl"];
    let first = report(1, &base);
    std::fs::write(&known, first.to_string()).unwrap();
    let known = known.to_str().unwrap();
    let again = report(0, &[&base[..], &["--baseline", known]].concat());
    assert_eq!(
        again["known"].as_u64().unwrap(),
        first["findings"].as_array().unwrap().len() as u64
    );
    let ignored = report(
        1,
        &[
            &base[..],
            &["--ignore", "task-ungradable", "--ignore", "task-refused"],
        ]
        .concat(),
    );
    assert!(
        found(&ignored)
            .iter()
            .all(|(_, code)| code != "task-ungradable" && code != "task-refused"),
        "{ignored:#}"
    );
    assert_eq!(ignored["ignored"], 6);
}

#[test]
fn findings_beyond_the_most_are_counted() {
    let report = report(1, &["queries-planted.jsonl", "--max-findings", "2"]);
    assert_eq!(report["findings"].as_array().unwrap().len(), 2);
    let counted: u64 = report["counts"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(counted, 2 + report["untold"].as_u64().unwrap());
}

#[test]
fn a_sample_is_the_same_for_the_same_seed_and_any_number_of_threads() {
    let sample = |seed, jobs| {
        report(
            1,
            &[
                "maths-planted.jsonl",
                "--template",
                "gsm8k",
                "--sample",
                "12",
                "--seed",
                seed,
                "--jobs",
                jobs,
            ],
        )
    };
    let (one, other) = (sample("5", "1"), sample("5", "4"));
    assert_eq!(one, other);
    assert_eq!(
        (&one["datasets"][0]["checked"], &one["datasets"][0]["rows"]),
        (&12.into(), &45.into())
    );
    assert_ne!(found(&one), found(&sample("6", "1")));
}

#[test]
fn what_cannot_be_checked_at_all_is_no_finding() {
    let told = |arguments: &[&str]| {
        let output = assay(&datasets(), &[&["check"], arguments].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            text(&output.stdout)
        );
        text(&output.stderr)
    };
    assert!(told(&["nowhere.jsonl"]).contains("cannot read `nowhere.jsonl`"));
    assert!(told(&["../datasets"]).contains("cannot tell the format"));
    assert!(told(&["maths.jsonl", "--template", "gsm9k"]).contains("`gsm8k`"));
    assert!(
        told(&[
            "maths.jsonl",
            "--template",
            "{\"type\":\"math\",\"answer\":\"{{ a\"}"
        ])
        .contains("`/answer`")
    );
    assert!(told(&["maths.jsonl", "--format", "pdf"]).contains("sarif"));
    assert!(told(&["maths.jsonl", "--ignore", "a-typo"]).contains("docs/CHECK.md"));
    assert!(told(&["maths.jsonl", "--output", "maths.jsonl"]).contains("is the input"));
    assert!(told(&["maths.jsonl", "--baseline", "maths.jsonl"]).contains("is no report"));
    assert!(
        told(&["maths.jsonl", "--format", "sarif=nowhere/report.sarif"]).contains("cannot write")
    );
}

#[test]
fn each_format_goes_to_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = datasets().join("queries-planted.jsonl");
    let formats = "text,junit=report.xml,sarif=report.sarif,github,markdown=summary.md";
    let output = assay(
        folder.path(),
        &[
            "check",
            file.to_str().unwrap(),
            "--format",
            formats,
            "--output",
            "report.txt",
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("report.xml").contains("<testsuites>"));
    assert!(read("report.sarif").contains("\"2.1.0\""));
    assert!(read("summary.md").contains("| `task-ungradable` | 3 |"));
    let together = read("report.txt");
    assert!(
        together.contains(": sql-gold-ambiguous: ") && together.contains("::error file="),
        "{together}"
    );
}

/// What a workflow hands to the action's script.
fn action(folder: &Path, inputs: &[(&str, &str)]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/ci/check.sh");
    let mut command = Command::new("bash");
    command
        .arg(script)
        .current_dir(folder)
        .env("ASSAY", env!("CARGO_BIN_EXE_assay"));
    command
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .env("SARIF", "out.sarif");
    command.envs(inputs.iter().copied()).output().unwrap()
}

#[test]
fn the_action_annotates_and_fails_with_findings() {
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
        text(&output.stdout).starts_with("::error file=a b.jsonl,line=1,title=task-not-made::")
    );
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(
        read("summary.md").contains("task-not-made") && read("out.sarif").contains("task-not-made")
    );
    // What looks like an option or a command in an input is neither.
    let output = action(folder.path(), &[("DATASETS", "--help\n$(touch gone)")]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(!folder.path().join("gone").exists());
}

/// A hub with one dataset, whose only file of rows is `content`; its address.
fn hub(content: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let request = BufReader::new(&stream)
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty());
            let request: Vec<String> = request.collect();
            let listing = r#"{"sha":"5e1f","siblings":[{"rfilename":"README.md"},{"rfilename":"data/rows.jsonl"}]}"#;
            let (status, body) = match request[0].split(' ').nth(1).unwrap() {
                "/api/datasets/org/sums/revision/v2" => ("200 OK", listing),
                "/datasets/org/sums/resolve/5e1f/data/rows.jsonl" => ("200 OK", content),
                _ => ("404 Not Found", ""),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(body.as_bytes()))
                .unwrap();
        }
    });
    address
}

#[test]
fn a_dataset_of_a_hub_is_told_with_its_revision() {
    let hub = hub(
        "{\"question\":\"6 times 7?\",\"answer\":\"#### 42\"}\n{\"question\":\"2 and \
         2?\",\"answer\":\"4\"}\n",
    );
    let check = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command
            .args(["check", name, "--template", "gsm8k", "--format", "json"])
            .env("NO_PROXY", "127.0.0.1");
        command
            .current_dir(datasets())
            .env("ASSAY_REWARD_MODELS_HUB", &hub)
            .output()
            .unwrap()
    };
    let output = check("hf://org/sums@v2");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["datasets"][0]["revision"], "5e1f");
    assert_eq!(
        report["findings"][0]["dataset"],
        "hf://org/sums@5e1f/data/rows.jsonl"
    );
    assert_eq!(
        found(&report),
        BTreeSet::from([(2, "task-not-made".to_owned())])
    );
    let output = check("hf://org/none");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("404"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn an_interrupted_check_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("rows.jsonl");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let mut child = command
        .args(["check", "rows.jsonl"])
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    // Opening waits until the check has opened it too: it is at work then.
    let mut writing = std::fs::File::options().write(true).open(&pipe).unwrap();
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    // It would read on for as long as something comes.
    let mut lines = 0u32;
    while writing.write_all(b"{\"id\":\"a\"}\n").is_ok() {
        lines += 1;
        assert!(lines < 20_000_000, "it does not stop");
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_check_that_waits_for_a_pipe_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(folder.path().join("rows.jsonl"))
            .status()
            .unwrap()
            .success()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let mut child = command
        .args(["check", "rows.jsonl"])
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    // Nobody writes. Signals are heard as soon as the process says that it catches them.
    let hears = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap()
            .trim()
            .to_owned();
        u64::from_str_radix(&caught, 16).unwrap() & 0b10 != 0
    };
    while !hears() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn sending_a_check_to_a_server_that_does_not_answer_can_be_interrupted() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let check = command
        .args(["check", "queries.jsonl", "--record", &address])
        .current_dir(datasets());
    let mut child = check.stdout(Stdio::null()).spawn().unwrap();
    let (mut sending, _) = silent.accept().unwrap();
    let mut head = [0; 4];
    sending.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"POST");
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_server_that_breaks_off_is_no_reader_that_had_enough() {
    let breaking = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", breaking.local_addr().unwrap());
    std::thread::spawn(move || breaking.incoming().for_each(drop));
    let output = assay(
        &datasets(),
        &["check", "queries.jsonl", "--record", &address],
    );
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stderr).contains("could not be sent to the record"),
        "{output:?}"
    );
}

#[test]
fn rollouts_that_are_neither_a_file_nor_a_column_are_told() {
    let output = assay(
        &datasets(),
        &["check", "queries.jsonl", "--rollouts", "roles.jsonl"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("neither a file nor a column `roles.jsonl`"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn an_answer_that_any_number_meets_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let row = |tolerance: &str| {
        format!(
            r#"{{"task":{{"type":"math","answer":"5 cm","tolerance":{{"absolute":{tolerance}}}}}}}"#
        )
    };
    std::fs::write(
        folder.path().join("rows.jsonl"),
        format!("{}\n{}\n", row("0.01"), row("100000")),
    )
    .unwrap();
    let output = assay(folder.path(), &["check", "rows.jsonl", "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        found(&report),
        BTreeSet::from([(2, "weak-checks".to_owned())]),
        "{report:#}"
    );
}

#[test]
fn a_check_that_breaks_off_leaves_the_report_of_before() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("report.json");
    std::fs::write(&kept, "before").unwrap();
    let output = assay(
        folder.path(),
        &["check", "absent.jsonl", "--format", "json=report.json"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    std::fs::write(
        folder.path().join("rows.jsonl"),
        "{\"task\":{\"type\":\"math\",\"answer\":\"2\"}}\n",
    )
    .unwrap();
    let twice = assay(
        folder.path(),
        &[
            "check",
            "rows.jsonl",
            "--format",
            "json=report.json,junit=report.json",
        ],
    );
    assert!(
        text(&twice.stderr).contains("cannot hold two reports"),
        "{}",
        text(&twice.stderr)
    );
    let output = assay(
        folder.path(),
        &["check", "rows.jsonl", "--format", "json=report.json"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&kept).unwrap().starts_with('{'));
}

#[test]
fn a_solution_is_graded_with_and_without_a_template() {
    let folder = tempfile::tempdir().unwrap();
    let row = |solution: &str| {
        format!(
            r#"{{"task":{{"type":"math","answer":"42"}},"gold":"42","solution":"\\boxed{{{solution}}}"}}"#
        )
    };
    std::fs::write(
        folder.path().join("rows.jsonl"),
        format!("{}\n{}\n", row("42"), row("41")),
    )
    .unwrap();
    let template = r#"{"task":{"type":"math","answer":"{{ gold }}"},"solution":"{{ gold }}"}"#;
    for way in [&[][..], &["--template", template]] {
        let check = [
            "check",
            "rows.jsonl",
            "--format",
            "json",
            "--ignore",
            "duplicate-row",
        ];
        let output = assay(
            folder.path(),
            &[&check[..], way, &["--solution", "{{ solution }}"]].concat(),
        );
        assert_eq!(
            output.status.code(),
            Some(1),
            "{way:?} {}",
            text(&output.stderr)
        );
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            found(&report),
            BTreeSet::from([(2, "solution-fails".to_owned())]),
            "{way:?} {report:#}"
        );
    }
    let of_task = assay(
        folder.path(),
        &["check", "rows.jsonl", "--solution", "{{ task.answer }}"],
    );
    assert_eq!(
        of_task.status.code(),
        Some(0),
        "{}{}",
        text(&of_task.stdout),
        text(&of_task.stderr)
    );
    let absent = assay(
        folder.path(),
        &["check", "rows.jsonl", "--solution", "{{ nowhere }}"],
    );
    assert!(
        text(&absent.stdout).contains("field-missing"),
        "{}{}",
        text(&absent.stdout),
        text(&absent.stderr)
    );
}

#[test]
fn tests_that_check_nothing_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let row = r#"{"task":{"type":"code","language":"python","tests":[{"assert":"assert True"}]}}"#;
    std::fs::write(folder.path().join("rows.jsonl"), row).unwrap();
    let output = assay(folder.path(), &["check", "rows.jsonl"]);
    assert!(
        text(&output.stdout).contains("mutant-accepted"),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_check_is_kept_by_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, base) = serve(folder.path());
    let mut file = report(
        1,
        &[
            "maths-planted.jsonl",
            "--template",
            "gsm8k",
            "--record",
            &base,
            "--max-findings",
            "3",
        ],
    );
    let ask = |path: &str| -> Value { serde_json::from_str(&get(&base, path)).unwrap() };
    let listed = &ask("/v1/checks")["checks"][0];
    assert_eq!(
        listed["datasets"],
        serde_json::json!(["maths-planted.jsonl"])
    );
    assert_eq!(
        (&listed["errors"], &listed["warnings"]),
        (&file["errors"], &file["warnings"])
    );
    let kept = ask(&format!("/v1/checks/{}", listed["check"].as_str().unwrap()));
    file.as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    for (field, value) in file.as_object().unwrap() {
        assert_eq!(&kept["report"][field], value, "{field}");
    }
    let away = assay(
        &datasets(),
        &[
            "check",
            "maths.jsonl",
            "--template",
            "gsm8k",
            "--record",
            "http://127.0.0.1:9",
        ],
    );
    assert_eq!(away.status.code(), Some(2));
    assert!(
        !away.stdout.is_empty() && text(&away.stderr).contains("could not be sent to the record"),
        "{away:?}"
    );
}

/// What a server answers.
fn get(base: &str, path: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    runtime.block_on(async {
        reqwest::get(format!("{base}{path}"))
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    })
}
