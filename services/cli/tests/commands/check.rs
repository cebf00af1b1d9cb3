//! `assay check` on the datasets of `tests/datasets`. Each dataset exists without faults and with
//! planted faults; a faulty row names its finding in the column `planted`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixtures::{assay, serve, text};

/// The datasets and their template options.
const DATASETS: &[(&str, &[&str])] = &[
    ("maths", &["--template", "gsm8k"]),
    ("programs", &["--template", "mbpp-sanitized"]),
    ("queries", &[]),
    ("calls", &[]),
];

fn datasets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/datasets")
}

/// Runs a check, asserts its exit code and returns its JSON report.
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

/// Lines and codes of the planted faults.
fn planted(file: &str) -> BTreeSet<(u64, String)> {
    let text = std::fs::read_to_string(datasets().join(file)).unwrap();
    let codes = |line: &str| -> Vec<String> {
        let Some((_, rest)) = line.split_once(r#""planted": ""#) else {
            return Vec::new();
        };
        let codes = rest.split_once('"').unwrap().0;
        codes.split(' ').map(str::to_owned).collect()
    };
    (1..)
        .zip(text.lines())
        .flat_map(|(number, line)| codes(line).into_iter().map(move |code| (number, code)))
        .collect()
}

/// Options with which every planted fault of a file is found.
fn options(file: &str) -> Vec<&'static str> {
    let has_rollouts = std::fs::read_to_string(datasets().join(file))
        .unwrap()
        .contains("\"rolls\"");
    let rollouts: &[&str] = if has_rollouts {
        &["--rollouts", "rolls"]
    } else {
        &[]
    };
    [&["--against", "benchmark.jsonl"], rollouts].concat()
}

#[test]
fn reports_no_findings_in_rows_without_faults() {
    for (name, template) in DATASETS {
        let file = format!("{name}.jsonl");
        let report = report(0, &[&[file.as_str()], *template, &options(&file)].concat());
        assert_eq!(found(&report), BTreeSet::new(), "{name}");
    }
}

#[test]
fn reports_exactly_the_planted_faults() {
    for (name, template) in DATASETS {
        let file = format!("{name}-planted.jsonl");
        let report = report(1, &[&[file.as_str()], *template, &options(&file)].concat());
        assert_eq!(found(&report), planted(&file), "{name}: {report:#}");
    }
}

/// Codes that a row alone cannot cause, such as `flaky`, which needs a grader with varying
/// verdicts. The tests of `assay-check` cover them.
const NOT_PLANTED: &[&str] = &[
    "flaky",
    "gold-sentence",
    "rule-fails",
    "unchecked",
    "work-outlier",
];

#[test]
fn every_code_is_planted_or_listed_as_not_planted() {
    let files = DATASETS
        .iter()
        .map(|(name, _)| planted(&format!("{name}-planted.jsonl")));
    let mut planted: BTreeSet<String> = files.flatten().map(|(_, code)| code).collect();
    // The generated datasets have other faults; `make check-planted` checks them.
    let generated = std::fs::read_to_string(datasets().join("../planted/defects.py")).unwrap();
    let words = generated.split(|c: char| !c.is_ascii_lowercase() && c != '-');
    planted.extend(words.map(str::to_owned));
    for code in assay_check::findings::ALL {
        let not_planted = NOT_PLANTED.contains(&code.name);
        assert_ne!(
            planted.contains(code.name),
            not_planted,
            "`{}` must be planted or in `NOT_PLANTED`, and not both",
            code.name
        );
    }
}

#[test]
fn leaves_out_findings_of_the_baseline_and_ignored_codes() {
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
            &["--ignore", "task-ungradable", "--ignore", "task-rejected"],
        ]
        .concat(),
    );
    assert!(
        found(&ignored)
            .iter()
            .all(|(_, code)| code != "task-ungradable" && code != "task-rejected"),
        "{ignored:#}"
    );
    assert_eq!(ignored["ignored"], 6);
}

#[test]
fn counts_findings_beyond_the_maximum() {
    let report = report(1, &["queries-planted.jsonl", "--max-findings", "2"]);
    assert_eq!(report["findings"].as_array().unwrap().len(), 2);
    let counted: u64 = report["counts"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(counted, 2 + report["unlisted"].as_u64().unwrap());
}

#[test]
fn sample_depends_only_on_the_seed() {
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
fn usage_errors_and_unreadable_files_exit_with_2() {
    let error = |arguments: &[&str]| {
        let output = assay(&datasets(), &[&["check"], arguments].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            text(&output.stdout)
        );
        text(&output.stderr)
    };
    assert!(error(&["nowhere.jsonl"]).contains("cannot read `nowhere.jsonl`"));
    assert!(error(&["../datasets/none.txt"]).contains("cannot determine the format"));
    assert!(error(&["../../services/check/src"]).contains("contains no dataset files"));
    for (option, value, similar) in [
        ("--template", "gsm9k", "gsm8k"),
        ("--ignore", "gold-mising", "gold-missing"),
        ("--explain", "gold-mising", "gold-missing"),
        ("--format", "sarf", "sarif"),
    ] {
        let dataset = (option != "--explain").then_some("maths.jsonl");
        let arguments: Vec<_> = dataset.into_iter().chain([option, value]).collect();
        let error = error(&arguments);
        assert!(
            error.contains(&format!("`{value}`")) && error.contains("did you mean"),
            "{error}"
        );
        assert!(
            error.contains(&format!("did you mean `{similar}`?")),
            "{error}"
        );
    }
    assert!(error(&["maths.jsonl", "--template", "nothing"]).contains("available: `acecode`"));
    assert!(
        error(&[
            "maths.jsonl",
            "--template",
            "{\"type\":\"math\",\"answer\":\"{{ a\"}"
        ])
        .contains("`/answer`")
    );
    assert!(error(&["maths.jsonl", "--format", "pdf"]).contains("sarif"));
    assert!(error(&["maths.jsonl", "--ignore", "a-typo"]).contains("docs/CHECK.md"));
    assert!(error(&["maths.jsonl", "--output", "maths.jsonl"]).contains("is the input"));
    assert!(error(&["maths.jsonl", "--baseline", "maths.jsonl"]).contains("is not a report"));
    assert!(
        error(&["maths.jsonl", "--format", "sarif=nowhere/report.sarif"]).contains("cannot write")
    );
}

#[test]
fn writes_each_format_to_its_file() {
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
    let combined = read("report.txt");
    assert!(
        combined.contains(": sql-gold-ambiguous: ") && combined.contains("::error file="),
        "{combined}"
    );
}

/// Starts a hub with one dataset, which has `content` as its only data file; returns its URL.
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
fn findings_of_a_hub_dataset_name_its_revision() {
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
        BTreeSet::from([(2, "template-fails".to_owned())])
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
fn interrupted_check_exits_with_130() {
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
    // Opening blocks until the check has opened the pipe too.
    let mut writer = std::fs::File::options().write(true).open(&pipe).unwrap();
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    // The check reads as long as the pipe has lines, unless it is interrupted.
    let mut lines = 0u32;
    while writer.write_all(b"{\"id\":\"a\"}\n").is_ok() {
        lines += 1;
        assert!(lines < 20_000_000, "the check does not stop");
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn check_blocked_on_a_pipe_can_be_interrupted() {
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
    // Nothing is written to the pipe. Wait until the process has installed its signal handler.
    let catches_interrupt = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap()
            .trim()
            .to_owned();
        u64::from_str_radix(&caught, 16).unwrap() & 0b10 != 0
    };
    while !catches_interrupt() {
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
fn sending_a_report_to_a_silent_server_can_be_interrupted() {
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
fn connection_closed_by_the_server_is_an_error() {
    let closing = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", closing.local_addr().unwrap());
    std::thread::spawn(move || closing.incoming().for_each(drop));
    let output = assay(
        &datasets(),
        &["check", "queries.jsonl", "--record", &address],
    );
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stderr).contains("cannot send the report"),
        "{output:?}"
    );
}

#[test]
fn rejects_rollouts_that_are_neither_a_file_nor_a_column() {
    let output = assay(
        &datasets(),
        &["check", "queries.jsonl", "--rollouts", "roles.jsonl"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("`roles.jsonl` is neither a file nor a column"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn finds_tolerances_that_accept_any_number() {
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
fn failed_check_leaves_the_earlier_report_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = folder.path().join("report.json");
    std::fs::write(&earlier, "before").unwrap();
    let output = assay(
        folder.path(),
        &["check", "absent.jsonl", "--format", "json=report.json"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&earlier).unwrap(), "before");
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
        text(&twice.stderr).contains("two reports are to be written to `report.json`"),
        "{}",
        text(&twice.stderr)
    );
    let output = assay(
        folder.path(),
        &["check", "rows.jsonl", "--format", "json=report.json"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&earlier).unwrap().starts_with('{'));
}

#[test]
fn grades_solutions_with_and_without_a_template() {
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
    for options in [&[][..], &["--template", template]] {
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
            &[&check[..], options, &["--solution", "{{ solution }}"]].concat(),
        );
        assert_eq!(
            output.status.code(),
            Some(1),
            "{options:?} {}",
            text(&output.stderr)
        );
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            found(&report),
            BTreeSet::from([(2, "solution-fails".to_owned())]),
            "{options:?} {report:#}"
        );
    }
    let from_task = assay(
        folder.path(),
        &["check", "rows.jsonl", "--solution", "{{ task.answer }}"],
    );
    assert_eq!(
        from_task.status.code(),
        Some(0),
        "{}{}",
        text(&from_task.stdout),
        text(&from_task.stderr)
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
fn finds_tests_that_check_nothing() {
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
fn explains_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let explained = assay(folder.path(), &["check", "--explain", "weak-checks"]);
    assert!(explained.status.success(), "{explained:?}");
    let page = text(&explained.stdout);
    assert!(page.starts_with("# `weak-checks`\n\nWarning: "), "{page}");
    assert!(page.contains("\n## What to do\n"), "{page}");
}

#[test]
fn server_stores_the_report() {
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
    let fetch = |path: &str| -> Value { serde_json::from_str(&get(&base, path)).unwrap() };
    let listed = &fetch("/v1/checks")["checks"][0];
    assert_eq!(
        listed["datasets"],
        serde_json::json!(["maths-planted.jsonl"])
    );
    assert_eq!(
        (&listed["errors"], &listed["warnings"]),
        (&file["errors"], &file["warnings"])
    );
    let stored = fetch(&format!("/v1/checks/{}", listed["check"].as_str().unwrap()));
    file.as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    for (field, value) in file.as_object().unwrap() {
        assert_eq!(&stored["report"][field], value, "{field}");
    }
    let unreachable = assay(
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
    assert_eq!(unreachable.status.code(), Some(2));
    assert!(
        !unreachable.stdout.is_empty()
            && text(&unreachable.stderr).contains("cannot send the report"),
        "{unreachable:?}"
    );
}

/// The response body of a GET request.
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
