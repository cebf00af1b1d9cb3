//! The pool of workers: whoever is free answers, whoever dies is replaced.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, watch};

use crate::confine::{self, Confinement};
use crate::metrics::{self, ended};
use crate::process::{Asked, Worker};
use crate::request::{self, WorkerRequest};
use crate::{Death, WorkerError};

/// How workers are made.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// A binary that answers the hidden role ([`crate::role`]).
    pub program: PathBuf,
    /// What it is told beside the role.
    pub arguments: Vec<OsString>,
    /// How many workers there are at most. One for each core: threads of one process contend in
    /// page faults, processes do not.
    pub count: usize,
    /// Requests after which a worker is replaced, so that a compromised worker does not last.
    pub uses: u32,
}

/// What became of a request that may itself be the reason for having no answer.
#[derive(Debug)]
pub enum Settled<R> {
    /// The answer.
    Answered(R),
    /// It took longer than its timeout, twice, with the processor to itself most of the time.
    Overran,
}

/// Workers that receive a request before it fails. One may die because the system is out of memory
/// or an operator kills processes; after several in a row another attempt is unlikely to succeed.
const TRIES: usize = 3;

/// How long a worker may take to report its confinement.
const CONFINEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// A pool of workers. Cheap to clone: clones share the workers. Starts them when they are first
/// needed.
#[derive(Clone)]
pub struct WorkerPool(Arc<Inner>);

struct Inner {
    options: WorkerOptions,
    /// One permit for each worker that may be at work, in this pool and its siblings.
    free: Arc<Semaphore>,
    idle: Mutex<Vec<Worker>>,
    /// Whether the pool is stopping; running requests watch it.
    stopping: watch::Sender<bool>,
}

impl WorkerPool {
    /// A pool that has not started anything yet.
    #[must_use]
    pub fn new(options: WorkerOptions) -> Self {
        let free = Arc::new(Semaphore::new(options.count.max(1)));
        Self::with_permits(options, free)
    }

    /// A pool for another kind of work. It has its own processes and shares the limit on running
    /// requests: together both pools run as many requests at once as this one does alone.
    #[must_use]
    pub fn sibling(&self, options: WorkerOptions) -> Self {
        Self::with_permits(
            WorkerOptions {
                count: self.count(),
                ..options
            },
            Arc::clone(&self.0.free),
        )
    }

    fn with_permits(options: WorkerOptions, free: Arc<Semaphore>) -> Self {
        metrics::describe();
        let stopping = watch::Sender::new(false);
        Self(Arc::new(Inner {
            options,
            free,
            idle: Mutex::new(Vec::new()),
            stopping,
        }))
    }

    /// Starts one worker for each that may work at once. Best called before the process takes load.
    ///
    /// # Errors
    /// [`WorkerError::Start`].
    pub fn warm(&self) -> Result<(), WorkerError> {
        let mut idle = self.idle();
        while idle.len() < self.0.options.count {
            idle.push(Worker::start(&self.0.options)?);
        }
        Ok(())
    }

    /// Workers that could take a request now.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.free.available_permits()
    }

    /// Most workers that work at once.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.options.count.max(1)
    }

    /// Waits for a turn, no longer than `wait`. The holder may ask one request after another.
    ///
    /// # Errors
    /// [`WorkerError::Busy`] when none became free in time, [`WorkerError::Stopping`].
    pub async fn turn(&self, wait: Duration) -> Result<Turn<'_>, WorkerError> {
        match tokio::time::timeout(wait, self.0.free.acquire()).await {
            Ok(Ok(_permit)) => Ok(Turn {
                workers: self,
                _permit,
            }),
            Ok(Err(_)) => Err(WorkerError::Stopping),
            Err(_) => Err(WorkerError::Busy),
        }
    }

    /// Waits for a turn, then as [`Turn::ask`].
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn ask<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        self.turn(Duration::MAX).await?.ask(request, timeout).await
    }

    /// Waits for a turn, then as [`Turn::settle`].
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn settle<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<Settled<W::Reply>, WorkerError> {
        self.turn(Duration::MAX)
            .await?
            .settle(request, timeout)
            .await
    }

    /// How the workers of this pool are confined.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn confinement(&self) -> Result<Confinement, WorkerError> {
        let confinement = self.ask(&confine::Request, CONFINEMENT_TIMEOUT).await?;
        metrics::confined(confinement);
        Ok(confinement)
    }

    /// Rejects further requests, fails running ones with [`WorkerError::Stopping`], and kills all
    /// workers. Sibling pools get no more turns; their idle workers end when they are stopped or
    /// dropped.
    pub async fn stop(&self) {
        self.0.stopping.send_replace(true);
        self.0.free.close();
        let idle = std::mem::take(&mut *self.idle());
        for worker in idle {
            worker.stop().await;
        }
    }

    /// Sends a framed request to a worker, and to another one if that worker dies.
    async fn exchange<W: WorkerRequest>(
        &self,
        request: &[u8],
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        let mut deaths: Vec<Death> = Vec::new();
        loop {
            let mut worker = self.take()?;
            match worker.ask(request, timeout).await {
                Asked::Answered(reply) => {
                    let (reply, is_good) = request::reply_of::<W>(&reply);
                    if is_good && worker.uses() < self.0.options.uses {
                        self.put_back(worker);
                    } else {
                        ended(if is_good { "used" } else { "tainted" });
                        self.replace();
                    }
                    return reply;
                }
                Asked::Overran { cpu } => {
                    ended("overran");
                    return Err(WorkerError::Overran { timeout, cpu });
                }
                Asked::Died(death) => {
                    tracing::warn!(%death, "a worker died over a request");
                    ended(if death.is_crash() { "crashed" } else { "died" });
                    deaths.push(death);
                    if deaths.len() == TRIES {
                        // A crash is reported only if every worker crashed: else the request need
                        // not be the reason.
                        let other = deaths
                            .iter()
                            .position(|death| !death.is_crash())
                            .unwrap_or_default();
                        return Err(WorkerError::Died(deaths.swap_remove(other)));
                    }
                }
            }
        }
    }

    /// Keeps a worker for the next request, or kills it if the pool is stopping.
    fn put_back(&self, worker: Worker) {
        let mut idle = self.idle();
        // Checked under the lock: `stop` sets the flag before it takes the idle workers.
        if !*self.0.stopping.borrow() {
            idle.push(worker);
        }
    }

    /// Starts a replacement for a worker that is not used again, before a request needs it.
    fn replace(&self) {
        match Worker::start(&self.0.options) {
            Ok(worker) => self.put_back(worker),
            // The next request that needs a worker tries again and reports the error.
            Err(error) => tracing::warn!(%error, "a worker could not be replaced"),
        }
    }

    /// An idle worker that still runs, else a new one.
    fn take(&self) -> Result<Worker, WorkerError> {
        loop {
            let Some(mut worker) = self.idle().pop() else {
                return Worker::start(&self.0.options);
            };
            if worker.is_alive() {
                return Ok(worker);
            }
            tracing::warn!("an idle worker died");
            ended("died");
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run one request at a time. Dropping it passes it to the next waiter.
pub struct Turn<'a> {
    workers: &'a WorkerPool,
    _permit: SemaphorePermit<'a>,
}

impl Turn<'_> {
    /// Asks a worker and reads its answer. `timeout` counts from when a worker begins. A request
    /// whose worker dies is retried in another worker, up to three times in all. Dropping the
    /// future kills the worker that runs the request.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn ask<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        let request = request::framed(request)?;
        let mut stopping = self.workers.0.stopping.subscribe();
        let stopped = async { drop(stopping.wait_for(|stopping| *stopping).await) };
        tokio::select! {
            biased;
            () = stopped => Err(WorkerError::Stopping),
            reply = self.workers.exchange::<W>(&request, timeout) => reply,
        }
    }

    /// As [`Turn::ask`], for a request of untrusted work: decides whether it is to blame for taking
    /// too long.
    ///
    /// # Errors
    /// [`WorkerError`] when it is not.
    pub async fn settle<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<Settled<W::Reply>, WorkerError> {
        let mut asked = self.ask(request, timeout).await;
        if matches!(asked, Err(WorkerError::Overran { .. })) {
            asked = self.ask(request, timeout).await;
        }
        match asked {
            Ok(reply) => Ok(Settled::Answered(reply)),
            // Without the processor the machine is to blame.
            Err(WorkerError::Overran { cpu, .. }) if cpu > timeout / 2 => Ok(Settled::Overran),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::program;

    /// A pool with one worker that writes its process id to a file and never answers.
    fn silent(folder: &std::path::Path) -> (WorkerPool, PathBuf) {
        let (script, id) = (folder.join("worker.sh"), folder.join("id"));
        std::fs::write(
            &script,
            format!(
                "#!/bin/sh\necho $$ > {0}.part\nmv {0}.part {0}\nexec sleep 1000\n",
                id.display()
            ),
        )
        .unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
        (
            WorkerPool::new(WorkerOptions {
                program: script,
                arguments: Vec::new(),
                count: 1,
                uses: u32::MAX,
            }),
            id,
        )
    }

    #[tokio::test]
    async fn stopping_kills_cells_and_fails_their_requests() {
        let folder = tempfile::tempdir().unwrap();
        let (workers, id) = silent(folder.path());
        let asked = tokio::spawn({
            let workers = workers.clone();
            async move {
                workers
                    .ask(&program::Request::probe(), Duration::from_secs(600))
                    .await
            }
        });
        let waiting = tokio::spawn({
            let workers = workers.clone();
            async move {
                workers
                    .ask(&program::Request::probe(), Duration::from_secs(600))
                    .await
            }
        });
        let id = loop {
            match std::fs::read_to_string(&id) {
                Ok(id) => break id.trim().to_owned(),
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        workers.stop().await;
        assert!(matches!(asked.await.unwrap(), Err(WorkerError::Stopping)));
        assert!(matches!(waiting.await.unwrap(), Err(WorkerError::Stopping)));
        assert!(matches!(
            workers.ask(&program::Request::probe(), Duration::MAX).await,
            Err(WorkerError::Stopping)
        ));
        // A killed process is a zombie until the runtime has reaped it.
        let alive = || {
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            state
                .rsplit(')')
                .next()
                .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
        };
        while alive() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
