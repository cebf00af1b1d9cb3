//! Signals. The first signal shuts the process down gracefully within the time limit, the second
//! ends it immediately. No worker survives.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixtures::{Running, serve_with};

/// An item whose completion keeps a worker busy for longer than any test runs.
fn endless() -> Value {
    let database =
        json!({ "schema": "create table t(n integer)", "rows": "insert into t values (1)" });
    let count =
        "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c";
    json!({
        "completion": format!("```sql\n{count}\n```"),
        "task": {
            "type": "sql", "dialect": "sqlite", "database": database, "gold": "select n from t",
            "limits": { "work": 1_000_000_000 },
        },
    })
}

/// The child processes of a process, which are its workers.
fn children(id: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// CPU time of a process over all threads, in nanoseconds; `None` if it has ended.
fn cpu_time(id: &str) -> Option<u64> {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task"))
        .ok()?
        .flatten();
    let texts =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    Some(
        texts
            .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
            .sum(),
    )
}

/// Waits until a worker is busy, and returns all workers.
fn busy_workers(id: u32) -> Vec<String> {
    loop {
        let workers = children(id);
        // Starting a worker takes a tenth of this.
        if workers
            .iter()
            .any(|worker| cpu_time(worker).is_some_and(|nanoseconds| nanoseconds > 2_000_000_000))
        {
            return workers;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the processes have ended, which may be after their parent.
fn wait_for_end(workers: &[String]) {
    assert!(!workers.is_empty());
    let is_running = |worker: &String| {
        let line = std::fs::read_to_string(format!("/proc/{worker}/stat")).unwrap_or_default();
        line.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
    };
    while workers.iter().any(is_running) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn terminating_fails_long_items_and_kills_their_workers() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, base) = serve_with(folder.path(), &[("ASSAY_SERVER_SHUTDOWN_SECONDS", "1")]);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let reply = tokio::spawn({
        let request = json!({ "items": [endless()] }).to_string();
        let post = reqwest::Client::new()
            .post(format!("{base}/v1/grade"))
            .body(request);
        async move { post.send().await.unwrap().bytes().await.unwrap() }
    });
    let id = server.0.id();
    let workers = tokio::task::spawn_blocking(move || busy_workers(id))
        .await
        .unwrap();
    server.signal(Signal::TERM);
    let reply: Value = serde_json::from_slice(&reply.await.unwrap()).unwrap();
    let result = &reply["results"][0];
    assert_eq!(
        (&result["outcome"], &result["score"], &result["reward"]),
        (&json!("failed"), &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&result["error"]["code"], &result["error"]["retryable"]),
        (&json!("shutting_down"), &json!(true))
    );
    assert_eq!(result["recorded"], true);
    assert_eq!(server.code(), Some(0));
    wait_for_end(&workers);
}

#[tokio::test(flavor = "multi_thread")]
async fn second_signal_ends_the_process_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, base) =
        serve_with(folder.path(), &[("ASSAY_SERVER_SHUTDOWN_SECONDS", "3600")]);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = json!({ "items": [endless()] }).to_string();
    let reply = tokio::spawn(
        reqwest::Client::new()
            .post(format!("{base}/v1/grade"))
            .body(request)
            .send(),
    );
    let id = server.0.id();
    let workers = tokio::task::spawn_blocking(move || busy_workers(id))
        .await
        .unwrap();
    server.signal(Signal::TERM);
    // The first signal has been handled when the server no longer listens.
    let address = base.trim_start_matches("http://").to_owned();
    while std::net::TcpStream::connect(&address).is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.signal(Signal::TERM);
    assert_eq!(server.code(), Some(143));
    assert!(
        reply.await.unwrap().is_err(),
        "the connection is closed without a reply"
    );
    wait_for_end(&workers);
}

/// Interrupts a command while a worker is busy, and asserts that the command and its workers end.
fn interrupt(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let child = command
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let workers = busy_workers(running.0.id());
    running.signal(Signal::INT);
    assert_eq!(running.code(), Some(130), "{arguments:?}");
    wait_for_end(&workers);
}

#[test]
fn interrupting_a_command_ends_its_workers() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("items.jsonl"), endless().to_string()).unwrap();
    interrupt(
        folder.path(),
        &["grade", "items.jsonl", "-o", "results.jsonl"],
    );
}

#[test]
fn server_ends_with_a_killed_parent_that_holds_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = Command::new("sleep")
        .arg("1000")
        .stdout(Stdio::piped())
        .spawn()
        .map(Running)
        .unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["serve", "--listen", "127.0.0.1:0", "--database", ""])
        .args(["--print-url", "--exit-on-stdin-close"])
        .current_dir(folder.path())
        .stdin(parent.0.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map(Running)
        .unwrap();
    let mut stdout = BufReader::new(server.0.stdout.take().unwrap());
    let mut url = String::new();
    stdout.read_line(&mut url).unwrap();
    let address = url.trim_end().strip_prefix("http://").unwrap();
    assert!(std::net::TcpStream::connect(address).is_ok(), "{url}");
    parent.kill();
    assert_eq!(server.code(), Some(0));
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "the URL is the only output");
}
