//! One cell seen from its parent: a process, its two pipes, and how to end it.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::child::ROLE;
use crate::pool::CellOptions;
use crate::{CellError, frame};

/// A running cell. Dropping it kills the process.
pub(crate) struct Cell {
    process: Child,
    requests: ChildStdin,
    replies: ChildStdout,
}

/// What became of one request.
pub(crate) enum Asked {
    Answered(Vec<u8>),
    /// The cell is dead, and how it ended.
    Died(String),
    Overran {
        cpu: Duration,
    },
}

impl Cell {
    pub(crate) fn start(options: &CellOptions) -> Result<Self, CellError> {
        let failed = |error| CellError::Start { program: options.program.clone(), error };
        let mut process = Command::new(&options.program)
            .arg(ROLE)
            .args(&options.arguments)
            // Untrusted work should find nothing here even if it gets out of the sandbox.
            .env_clear()
            .env("TZ", "UTC0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (requests, replies) = pipes.ok_or_else(|| failed(std::io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self { process, requests, replies })
    }

    /// Sends one request and waits for its answer. Unless it was answered, the cell is dead afterwards.
    pub(crate) async fn ask(&mut self, request: &[u8], patience: Duration) -> Asked {
        let before = self.cpu();
        let exchange = async {
            // Both at once: a cell that answers before it has read everything must not block on a full pipe.
            let (sent, received) =
                tokio::join!(frame::send(&mut self.requests, request), frame::receive(&mut self.replies));
            sent.and(received)
        };
        match tokio::time::timeout(patience, exchange).await {
            Ok(Ok(reply)) => Asked::Answered(reply),
            Ok(Err(error)) => Asked::Died(self.end(&error.to_string()).await),
            Err(_) => {
                let cpu = self.cpu().saturating_sub(before);
                self.end("it overran").await;
                Asked::Overran { cpu }
            }
        }
    }

    /// Ends the process and waits until it is gone.
    pub(crate) async fn stop(mut self) {
        // An error means that it is gone already.
        let _ = self.process.kill().await;
    }

    /// Kills the process, reaps it and says how it ended.
    async fn end(&mut self, why: &str) -> String {
        // A cell that died by itself has its own status; give it a moment to be seen before killing it.
        let ended = tokio::time::timeout(Duration::from_millis(100), self.process.wait()).await;
        if let Ok(Ok(status)) = ended {
            return format!("{why}; the process ended with {status}");
        }
        // An error means that it is gone already.
        let _ = self.process.kill().await;
        why.to_owned()
    }

    /// Processor time used so far, over all threads; zero when the system does not say.
    fn cpu(&self) -> Duration {
        let Some(id) = self.process.id() else { return Duration::ZERO };
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let nanoseconds = tasks.filter_map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanoseconds.sum())
    }
}
