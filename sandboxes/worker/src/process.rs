//! The parent's handle of one worker: a process and its pipes.

use std::io;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::Duration;

use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::BufReader;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

use crate::child::ROLE;
use crate::cpu_allowance::CpuAllowance;
use crate::frame::{self, Frame, Received};
use crate::options::WorkerOptions;
use crate::scheduler::{Preemption, Rank, protected};
use crate::slot::Slot;
use crate::{Death, WorkerError, lines};

/// Most requests are answered within this time. Shorter than the time during which a request is
/// protected from preemption.
const SHORT_WAIT: Duration = Duration::from_millis(500);

/// Bytes that the pipes of a worker hold. By default, Linux lets a user have 64 MiB in all pipes
/// before it makes new ones smaller.
const PIPE_BYTES: usize = 256 << 10;

/// How long a process that closed its pipes may take to exit. Freeing much memory takes a while.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A running worker. Dropping it kills the process.
pub(crate) struct Worker {
    process: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// Number of requests that it has answered.
    uses: u32,
    /// The generation of its pool when it was started.
    generation: u64,
}

/// The result of one request.
pub(crate) enum CallResult {
    /// The frame of the reply.
    Replied(Received),
    /// The worker died.
    Died(Death),
    /// The worker exceeded the timeout and was killed.
    TimedOut {
        /// Processor time that it used.
        cpu: Duration,
    },
    /// Another caller got the slot, and the worker was killed.
    Preempted,
    /// The pool is stopping.
    Stopping,
}

/// How the wait for a reply ended.
enum Wait {
    Replied(io::Result<Received>),
    TimedOut { cpu: Duration },
    Preempted,
    Stopping,
}

impl Worker {
    pub(crate) fn start(options: &WorkerOptions, generation: u64) -> Result<Self, WorkerError> {
        let failed = |error| WorkerError::Start {
            program: options.program.clone(),
            error,
        };
        let mut process = Command::new(&options.program)
            .arg(ROLE)
            .args(&options.arguments)
            // The environment contains nothing of use to work that escapes the sandbox.
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
        enlarge(&requests);
        enlarge(&replies);
        // Ends with the process.
        tokio::spawn(lines::log(errors, process.id().unwrap_or_default()));
        Ok(Self {
            process,
            requests,
            replies: BufReader::new(replies),
            uses: 0,
            generation,
        })
    }

    /// Whether the process is still running.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// The generation of its pool when it was started.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// The id of the process, if it has not ended.
    #[cfg(test)]
    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Number of requests that it has answered.
    pub(crate) fn uses(&self) -> u32 {
        self.uses
    }

    /// Sends requests, if there are any, and waits for the next reply. Without a reply, the
    /// worker must not be used again.
    ///
    /// `timeout` is processor time of the worker, so that load does not shorten it. A worker that
    /// makes almost no progress for that long in wall time is killed, too. While another caller
    /// has the slot, the worker is suspended. `restarts` is how often the request was preempted
    /// without a reply.
    pub(crate) async fn call(
        &mut self,
        requests: &[Frame],
        timeout: Duration,
        slot: &mut Slot,
        restarts: u32,
    ) -> CallResult {
        match self.exchange(requests, timeout, slot, restarts).await {
            Wait::Replied(Ok(reply)) => {
                self.uses = self.uses.saturating_add(1);
                CallResult::Replied(reply)
            }
            Wait::Replied(Err(error)) => CallResult::Died(self.reap(error.to_string()).await),
            Wait::TimedOut { cpu } => {
                // An error means that the process has already ended.
                let _ = self.process.kill().await;
                CallResult::TimedOut { cpu }
            }
            Wait::Preempted => CallResult::Preempted,
            Wait::Stopping => CallResult::Stopping,
        }
    }

    async fn exchange(
        &mut self,
        requests: &[Frame],
        timeout: Duration,
        slot: &mut Slot,
        restarts: u32,
    ) -> Wait {
        let Self {
            process,
            requests: input,
            replies: output,
            ..
        } = self;
        let id = process.id();
        let exchange = async {
            // Concurrently: a worker that replies before it has read the whole request must not
            // block on a full pipe.
            let (sent, received) =
                tokio::join!(frame::send(input, requests), frame::receive(output));
            sent.and(received)
        };
        tokio::pin!(exchange);
        // Reading processor time and tracking the request cost more than a short request.
        let short_wait = SHORT_WAIT.min(timeout / 2);
        if let Ok(replied) = tokio::time::timeout(short_wait, exchange.as_mut()).await {
            return Wait::Replied(replied);
        }
        let before = cpu_time(id).saturating_sub(short_wait);
        let started = Instant::now() - short_wait;
        let mut allowance = CpuAllowance::new(timeout, started);
        let mut is_protected_until = started + protected(restarts);
        loop {
            let mut tracked = slot.track(started, is_protected_until);
            let preemption = tokio::select! {
                biased;
                replied = exchange.as_mut() => return Wait::Replied(replied),
                preemption = tracked.preempted() => preemption,
                () = tokio::time::sleep(allowance.next_check(Instant::now())) => {
                    let cpu = cpu_time(id).saturating_sub(before);
                    if allowance.is_exceeded(cpu, Instant::now()) {
                        return Wait::TimedOut { cpu };
                    }
                    continue;
                }
            };
            let preempted = Instant::now();
            let suspended = match preemption {
                Preemption::Suspend(suspended) if signal(id, Signal::STOP) => suspended,
                Preemption::Suspend(_) | Preemption::Restart => {
                    // An error means that the process has already ended.
                    let _ = process.kill().await;
                    slot.release();
                    return Wait::Preempted;
                }
            };
            slot.release();
            // Others are preempted again only when the slot has been passed on.
            drop(tracked);
            if slot.regain(Rank::Suspended).await.is_err() {
                return Wait::Stopping;
            }
            drop(suspended);
            if !signal(id, Signal::CONT) {
                let _ = process.kill().await;
                return Wait::Preempted;
            }
            allowance.extend(preempted.elapsed());
            is_protected_until = Instant::now() + protected(0);
        }
    }

    /// Kills the process and waits until it has ended.
    pub(crate) async fn stop(mut self) {
        // An error means that the process has already ended.
        let _ = self.process.kill().await;
    }

    /// Kills the process if it does not exit by itself, and returns how it ended.
    async fn reap(&mut self, reason: String) -> Death {
        // If the worker died by itself, its own exit status explains why, so wait for it first.
        let ended = tokio::time::timeout(EXIT_TIMEOUT, self.process.wait()).await;
        if let Ok(Ok(status)) = ended {
            return Death::new(reason, Some(status));
        }
        // An error means that the process has already ended.
        let _ = self.process.kill().await;
        Death::new(reason, None)
    }
}

/// Lets a pipe hold more, so that long frames wake up both sides less often. The kernel refuses
/// that if many pipes are large already.
fn enlarge(pipe: &impl AsFd) {
    if let Err(error) = fcntl_setpipe_size(pipe, PIPE_BYTES) {
        tracing::debug!(%error, "cannot enlarge the pipe of a worker");
    }
}

/// Sends a signal to a process that was not waited for. Returns whether it was sent.
fn signal(id: Option<u32>, signal: Signal) -> bool {
    let id = id
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    id.is_some_and(|id| kill_process(id, signal).is_ok())
}

/// Processor time that a process has used, over all its threads; zero if the system does not report
/// it.
fn cpu_time(id: Option<u32>) -> Duration {
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
