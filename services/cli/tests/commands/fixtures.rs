//! Runs commands and servers, and reads their output.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Runs a command in a folder and waits until it ends.
pub(crate) fn assay(folder: &Path, arguments: &[&str]) -> Output {
    command(folder).args(arguments).output().unwrap()
}

/// Records the grades of items, one JSON object per line, in the database `assay.db` of a folder.
pub(crate) fn record_items(folder: &Path, items: &[String], run: &str, step: &str) {
    std::fs::write(folder.join("items.jsonl"), items.join("\n")).unwrap();
    let grade = ["grade", "items.jsonl", "-o", "/dev/null"];
    let of_run = ["--run", run, "--step", step];
    let database = ["--database", "sqlite://assay.db"];
    let output = assay(folder, &[&grade[..], &of_run, &database].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A command that runs in a folder.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(folder).env_remove("ASSAY_LOG_FILTER");
    command
}

/// Asserts that a command exits with 2 and that its error contains this message.
pub(crate) fn assert_fails(folder: &Path, arguments: &[&str], message: &str) {
    let output = assay(folder, arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(stderr.contains(message), "{arguments:?}: {stderr}");
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn lines(bytes: &[u8]) -> Vec<Value> {
    text(bytes)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A process that is killed on drop.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits until the process has ended and returns its exit code.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server with the record `assay.db` in the folder; also returns its URL.
pub(crate) fn serve(folder: &Path) -> (Running, String) {
    serve_with(folder, &[])
}

/// Starts a server with these environment variables.
pub(crate) fn serve_with(folder: &Path, variables: &[(&str, &str)]) -> (Running, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.envs(variables.iter().copied());
    listening(folder, command)
}

/// Starts a server with this command; adds the arguments.
pub(crate) fn listening(folder: &Path, command: Command) -> (Running, String) {
    listening_with(folder, command, "sqlite://assay.db")
}

/// Starts a server with another database.
pub(crate) fn listening_with(
    folder: &Path,
    mut command: Command,
    database: &str,
) -> (Running, String) {
    let mut child = command
        .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
        .env("ASSAY_LOG_FORMAT", "json")
        .current_dir(folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = lines
        .by_ref()
        .map(Result::unwrap)
        .find_map(|line| {
            let line: Value = serde_json::from_str(&line).ok()?;
            line["fields"]["address"].as_str().map(str::to_owned)
        })
        .expect("the server logs its address");
    // The pipe is drained, so that the server never blocks on its log.
    std::thread::spawn(move || lines.for_each(drop));
    (Running(child), format!("http://{address}"))
}
