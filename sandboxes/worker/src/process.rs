//! One worker seen from its parent: a process, its two pipes, and how to end it.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::child::ROLE;
use crate::pool::WorkerOptions;
use crate::{Death, WorkerError, frame, lines};

/// How soon most requests are answered.
const AT_ONCE: Duration = Duration::from_millis(500);

/// How long a process that closed its pipes may take to end. Freeing much memory takes a while.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A running worker. Dropping it kills the process.
pub(crate) struct Worker {
    process: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// Number of requests it has answered.
    uses: u32,
}

/// What became of one request.
pub(crate) enum Asked {
    Answered(Vec<u8>),
    /// The worker is dead.
    Died(Death),
    Overran {
        cpu: Duration,
    },
}

impl Worker {
    pub(crate) fn start(options: &WorkerOptions) -> Result<Self, WorkerError> {
        let failed = |error| WorkerError::Start {
            program: options.program.clone(),
            error,
        };
        let mut process = Command::new(&options.program)
            .arg(ROLE)
            .args(&options.arguments)
            // Untrusted work should find nothing here even if it gets out of the sandbox.
            .env_clear()
            .env("TZ", "UTC0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A worker must not write to the operator's terminal.
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let pipes = process
            .stdin
            .take()
            .zip(process.stdout.take())
            .zip(process.stderr.take());
        let ((requests, replies), errors) =
            pipes.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        // Ends with the process.
        tokio::spawn(lines::log(errors, process.id().unwrap_or_default()));
        Ok(Self {
            process,
            requests,
            replies: BufReader::new(replies),
            uses: 0,
        })
    }

    /// Whether the process still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Number of requests it has answered.
    pub(crate) fn uses(&self) -> u32 {
        self.uses
    }

    /// Sends one request, framed, and waits for its answer. Unless it was answered, the worker is
    /// dead afterwards.
    pub(crate) async fn ask(&mut self, request: &[u8], timeout: Duration) -> Asked {
        match self.exchange(request, timeout).await {
            Ok(Ok(reply)) => {
                self.uses = self.uses.saturating_add(1);
                Asked::Answered(reply)
            }
            Ok(Err(error)) => Asked::Died(self.end(error.to_string()).await),
            Err(cpu) => {
                // An error means that it is gone already.
                let _ = self.process.kill().await;
                Asked::Overran { cpu }
            }
        }
    }

    /// The answer, or the processor time the worker used while it was waited for in vain.
    async fn exchange(
        &mut self,
        request: &[u8],
        timeout: Duration,
    ) -> Result<io::Result<Vec<u8>>, Duration> {
        let id = self.process.id();
        let exchange = async {
            // Both at once: a worker that answers before it has read everything must not block on a
            // full pipe.
            let (sent, received) = tokio::join!(
                frame::send(&mut self.requests, request),
                frame::receive(&mut self.replies)
            );
            sent.and(received)
        };
        tokio::pin!(exchange);
        // Most requests are answered at once. Processor time is wanted only of those that are not,
        // and reading it costs more than a short request does.
        let at_once = AT_ONCE.min(timeout / 2);
        if let Ok(answered) = tokio::time::timeout(at_once, exchange.as_mut()).await {
            return Ok(answered);
        }
        let before = cpu_of(id);
        let answered = tokio::time::timeout(timeout - at_once, exchange).await;
        answered.map_err(|_| cpu_of(id).saturating_sub(before))
    }

    /// Ends the process and waits until it is gone.
    pub(crate) async fn stop(mut self) {
        // An error means that it is gone already.
        let _ = self.process.kill().await;
    }

    /// Kills the process, reaps it and says how it ended.
    async fn end(&mut self, reason: String) -> Death {
        // A worker that died by itself has its own status; give it a moment to be seen before
        // killing it.
        let ended = tokio::time::timeout(EXIT_TIMEOUT, self.process.wait()).await;
        if let Ok(Ok(status)) = ended {
            return Death::new(reason, Some(status));
        }
        // An error means that it is gone already.
        let _ = self.process.kill().await;
        Death::new(reason, None)
    }
}

/// Processor time a process used so far, over all threads; zero when the system does not say.
fn cpu_of(id: Option<u32>) -> Duration {
    let Some(id) = id else { return Duration::ZERO };
    let tasks = std::fs::read_dir(format!("/proc/{id}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}
