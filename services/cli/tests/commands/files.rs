//! The limit on open files is raised to the hard limit, and connections leave enough of it for the
//! record.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use crate::fixtures::listening;

/// Runs the command in a shell that first sets limits on open files.
fn limited(limits: &str) -> Command {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &format!("{limits} && exec \"$0\" \"$@\""),
        env!("CARGO_BIN_EXE_assay"),
    ]);
    command
}

fn send(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn raises_the_soft_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = listening(folder.path(), limited("ulimit -Sn 150 && ulimit -Hn 700"));
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.0.id())).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    let fields: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(fields[3..5], ["700", "700"], "{line}");
}

#[test]
fn grades_and_records_while_idle_clients_use_all_connections() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, base) = listening(folder.path(), limited("ulimit -n 256"));
    let address = base.trim_start_matches("http://");
    let idle: Vec<TcpStream> = (0..260)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let healthy = send(
        address,
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert!(healthy.ends_with("ok\n"), "{healthy}");
    let body = r#"{"items":[{"completion":"\\boxed{1}","task":{"type":"math","answer":"1"}}]}"#;
    let head = format!(
        "POST /v1/grade HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}",
        body.len()
    );
    let graded = send(address, &format!("{head}\r\n\r\n{body}"));
    assert!(graded.contains("\"recorded\":true"), "{graded}");
    assert_eq!(idle.len(), 260);
}
