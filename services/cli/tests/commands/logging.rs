//! A closed, full or blocked stderr neither ends nor blocks a command.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::fixtures::Running;

/// Starts a server with verbose logging to this stderr; also returns its address.
fn serve(folder: &Path, stderr: Stdio) -> (Running, String) {
    // The port is chosen here, because the address cannot be read from the log.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["serve", "--listen", &address, "--database", ""])
        .env("ASSAY_LOG_FILTER", "trace")
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .unwrap();
    let mut server = Running(child);
    while TcpStream::connect(&address).is_err() {
        assert_eq!(server.0.try_wait().unwrap(), None, "the server ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    (server, address)
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    response
}

/// The number of log lines that the server reports as dropped.
fn dropped(address: &str) -> u64 {
    let metrics = get(address, "/metrics");
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("assay_log_lines_dropped_total "));
    line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
}

#[test]
fn serves_with_a_closed_log() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (mut server, address) = serve(folder.path(), writer.into());
    get(&address, "/healthz");
    assert!(dropped(&address) > 0);
    server.signal(Signal::TERM);
    assert_eq!(server.code(), Some(0));
}

#[test]
fn serves_with_the_log_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, address) = serve(
        folder.path(),
        File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
            .into(),
    );
    get(&address, "/healthz");
    assert!(dropped(&address) > 0);
    server.signal(Signal::TERM);
    assert_eq!(server.code(), Some(0));
}

#[test]
fn serves_with_a_blocked_log() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let (mut server, address) = serve(folder.path(), writer.into());
    // The pipe and the queue are full after a few megabytes of log.
    while dropped(&address) == 0 {
        get(&address, "/openapi.json");
    }
    get(&address, "/healthz");
    server.signal(Signal::TERM);
    assert_eq!(server.code(), Some(0));
    drop(reader);
}

#[test]
fn commands_exit_with_their_code_if_outputs_are_closed() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let ((out, stdout), (err, stderr)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        drop((out, err));
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command
            .args(arguments)
            .current_dir(folder.path())
            .stdout(stdout)
            .stderr(stderr)
            .status()
            .unwrap()
            .code()
    };
    assert_eq!(
        run(&["graders"]),
        Some(0),
        "a closed stdout is not an error"
    );
    assert_eq!(run(&["serve", "--print-config"]), Some(0));
    assert_eq!(run(&["grade", "missing.jsonl"]), Some(2));
    assert_eq!(run(&["--help"]), Some(0));

    std::fs::write(folder.path().join("invalid.jsonl"), "{}\n".repeat(2_000)).unwrap();
    assert_eq!(run(&["grade", "invalid.jsonl"]), Some(1));
    let dataset =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/datasets/queries-planted.jsonl");
    let dataset = dataset.to_str().unwrap();
    assert_eq!(run(&["check", dataset]), Some(1));
    assert_eq!(run(&["check", dataset, "--format", "json"]), Some(1));
    assert_eq!(run(&["check", dataset, "--format", "text,json"]), Some(1));
    assert_eq!(run(&["check", "--explain", "task-ungradable"]), Some(0));

    std::fs::create_dir(folder.path().join("assay.db.spool")).unwrap();
    std::fs::write(folder.path().join("assay.db"), []).unwrap();
    let verify = ["verify", "--database", "sqlite://assay.db"];
    assert_eq!(run(&verify), Some(1), "it has no tables");
    let create = ["keys", "create", "a", "--database", "sqlite://assay.db"];
    assert_eq!(run(&create), Some(2), "the key is lost");
    std::fs::write(folder.path().join("assay.db.spool/00000001.seg"), "damage").unwrap();
    std::fs::write(folder.path().join("assay.db.spool/00000002.seg"), []).unwrap();
    assert_eq!(run(&verify), Some(1));
}

#[test]
fn logs_failed_items_of_a_batch_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let item =
        |n: usize| format!(r#"{{"id":"i{n}","completion":"x","task":{{"type":"reward_model"}}}}"#);
    let items: Vec<String> = (0..500).map(item).collect();
    std::fs::write(folder.path().join("items.jsonl"), items.join("\n")).unwrap();
    let output = crate::fixtures::command(folder.path())
        .args(["grade", "items.jsonl", "-o", "results.jsonl"])
        .args([
            "--database",
            "sqlite://assay.db",
            "--run",
            "r",
            "--step",
            "3",
        ])
        .env("ASSAY_LOG_FORMAT", "json")
        .output()
        .unwrap();
    let results = std::fs::read_to_string(folder.path().join("results.jsonl")).unwrap();
    assert_eq!(results.matches(r#""outcome":"failed""#).count(), 500);
    let lines = crate::fixtures::lines(&output.stderr);
    let failures = lines.iter().map(|line| &line["fields"]);
    let failures: Vec<_> = failures
        .filter(|fields| fields["message"] == "items of a batch failed")
        .collect();
    // One line for each batch.
    assert_eq!(failures.len(), 1, "{failures:#?}");
    let first = failures[0];
    assert_eq!(
        (&first["failed"], &first["items"]),
        (&500.into(), &500.into())
    );
    assert_eq!(first["all"], "reward_model grader_unavailable: 500");
    assert_eq!(first["grader"], "reward_model");
    assert_eq!(first["code"], "grader_unavailable");
    assert_eq!((&first["run"], &first["step"]), (&"r".into(), &3.into()));
    assert!(first["item"].as_str().unwrap().starts_with('i'), "{first}");
    let reason = first["reason"].as_str().unwrap();
    assert!(reason.contains("no reward model is loaded"), "{first}");
}
