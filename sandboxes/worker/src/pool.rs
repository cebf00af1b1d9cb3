//! The pool of workers: sends a request to an idle worker, and replaces workers that die.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_core::worker_time::{self, WorkerTime};
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::confine::{self, Confinement};
use crate::metrics::{self, ended};
use crate::options::WorkerOptions;
use crate::process::{CallResult, Worker};
use crate::request::{self, WorkerRequest};
use crate::{Death, WorkerError};

/// The result of untrusted work that may itself be the reason why there is no reply.
#[derive(Debug)]
pub enum Settled<R> {
    /// The reply.
    Answered(R),
    /// The request exceeded its timeout twice, and had the processor most of the time.
    Overran,
}

/// Workers that receive a request before it fails. A worker may die because the system is out of
/// memory or an operator kills processes. After several in a row another attempt is unlikely to
/// succeed.
const MAX_ATTEMPTS: usize = 3;

/// How long a worker may take to report its confinement.
const CONFINEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// A pool of workers, which are started when they are first needed. Cheap to clone: clones share
/// the workers.
#[derive(Clone)]
pub struct WorkerPool(Arc<PoolState>);

struct PoolState {
    options: WorkerOptions,
    /// One permit for each request that may run at once, in this pool and its siblings.
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Worker>>,
    /// Number of calls of [`WorkerPool::renew`].
    generation: AtomicU64,
    /// Whether the pool is stopping. Running requests watch it.
    stopping: watch::Sender<bool>,
}

impl WorkerPool {
    /// A pool without running workers.
    #[must_use]
    pub fn new(options: WorkerOptions) -> Self {
        let permits = Arc::new(Semaphore::new(options.count.max(1)));
        Self::with_permits(options, permits)
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
            Arc::clone(&self.0.permits),
        )
    }

    fn with_permits(options: WorkerOptions, permits: Arc<Semaphore>) -> Self {
        metrics::describe();
        let stopping = watch::Sender::new(false);
        Self(Arc::new(PoolState {
            options,
            permits,
            idle: Mutex::new(Vec::new()),
            generation: AtomicU64::new(0),
            stopping,
        }))
    }

    /// Starts all workers. Best called before the process takes load.
    ///
    /// # Errors
    /// [`WorkerError::Start`].
    pub fn warm(&self) -> Result<(), WorkerError> {
        let mut idle = self.idle();
        while idle.len() < self.0.options.count {
            idle.push(self.start()?);
        }
        Ok(())
    }

    /// Replaces the workers that are running now before they get another request, because what
    /// they loaded at their start has changed.
    pub fn renew(&self) {
        self.0.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Number of requests that could start now.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.permits.available_permits()
    }

    /// Most requests that run at once.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.options.count.max(1)
    }

    /// Waits for a permit, at most for `timeout`. With a permit, requests can be sent one after
    /// another.
    ///
    /// # Errors
    /// [`WorkerError::Busy`] on a timeout, [`WorkerError::Stopping`].
    pub async fn acquire(&self, timeout: Duration) -> Result<WorkerPermit<'_>, WorkerError> {
        let begun = Instant::now();
        let acquired = tokio::time::timeout(timeout, self.0.permits.acquire()).await;
        worker_time::add(WorkerTime {
            waited: begun.elapsed(),
            ..WorkerTime::default()
        });
        match acquired {
            Ok(Ok(_permit)) => Ok(WorkerPermit {
                pool: self,
                since: Instant::now(),
                _permit,
            }),
            Ok(Err(_)) => Err(WorkerError::Stopping),
            Err(_) => Err(WorkerError::Busy),
        }
    }

    /// Waits for a permit, then does the same as [`WorkerPermit::ask`].
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn ask<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        let permit = self.acquire(Duration::MAX).await?;
        permit.ask(request, timeout).await
    }

    /// Waits for a permit, then does the same as [`WorkerPermit::settle`].
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn settle<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<Settled<W::Reply>, WorkerError> {
        let permit = self.acquire(Duration::MAX).await?;
        permit.settle(request, timeout).await
    }

    /// How the workers of this pool are confined.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn confinement(&self) -> Result<Confinement, WorkerError> {
        let confinement = self
            .ask(&confine::ConfinementRequest, CONFINEMENT_TIMEOUT)
            .await?;
        metrics::confined(confinement);
        Ok(confinement)
    }

    /// Rejects further requests, fails running ones with [`WorkerError::Stopping`], and kills all
    /// workers. Sibling pools get no more permits; their idle workers end when those pools are
    /// stopped or dropped.
    pub async fn stop(&self) {
        self.0.stopping.send_replace(true);
        self.0.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        for worker in idle {
            worker.stop().await;
        }
    }

    /// Sends a framed request to a worker, and to another one if that worker dies.
    pub(crate) async fn exchange<W: WorkerRequest>(
        &self,
        request: &[u8],
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        let mut deaths: Vec<Death> = Vec::new();
        loop {
            let mut worker = self.take()?;
            match worker.call(request, timeout).await {
                CallResult::Replied(reply) => {
                    let (reply, is_reusable) = request::reply_of::<W>(&reply);
                    if is_reusable {
                        self.keep(worker);
                    } else {
                        drop(worker);
                        self.replace("tainted");
                    }
                    return reply;
                }
                CallResult::TimedOut { cpu } => {
                    ended("overran");
                    return Err(WorkerError::Overran { timeout, cpu });
                }
                CallResult::Died(death) => {
                    count_death(&death);
                    deaths.push(death);
                    if deaths.len() == MAX_ATTEMPTS {
                        // A crash is reported only if every worker crashed. Otherwise the request
                        // may not be the cause.
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

    /// Returns a worker to the idle ones, or replaces it if it was used often enough.
    pub(crate) fn keep(&self, worker: Worker) {
        if worker.uses() < self.0.options.uses {
            self.put_back(worker);
        } else {
            drop(worker);
            self.replace("used");
        }
    }

    /// Returns a worker to the idle ones, or kills it if the pool is stopping.
    pub(crate) fn put_back(&self, worker: Worker) {
        let mut idle = self.idle();
        // Checked under the lock: `stop` sets the flag before it takes the idle workers.
        if !*self.0.stopping.borrow() {
            idle.push(worker);
        }
    }

    /// Starts a replacement for a worker that is not reused for this reason, before a request needs
    /// it.
    pub(crate) fn replace(&self, reason: &'static str) {
        ended(reason);
        match self.start() {
            Ok(worker) => self.put_back(worker),
            // The next request that needs a worker tries again and returns the error.
            Err(error) => tracing::warn!(%error, "cannot replace a worker"),
        }
    }

    /// Returns when the pool is stopping.
    pub(crate) async fn stopped(&self) {
        // Fails if the sender is gone, but this pool has it.
        drop(
            self.0
                .stopping
                .subscribe()
                .wait_for(|stopping| *stopping)
                .await,
        );
    }

    fn start(&self) -> Result<Worker, WorkerError> {
        // Read first: a worker that starts during a renewal may have loaded what was there before.
        let generation = self.0.generation.load(Ordering::SeqCst);
        Worker::start(&self.0.options, generation)
    }

    /// An idle worker that is still running, else a new one.
    pub(crate) fn take(&self) -> Result<Worker, WorkerError> {
        loop {
            let Some(mut worker) = self.idle().pop() else {
                return self.start();
            };
            if worker.generation() < self.0.generation.load(Ordering::SeqCst) {
                // Dropping it kills the process.
                ended("renewed");
                continue;
            }
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

/// Counts and logs a worker that died during a request.
pub(crate) fn count_death(death: &Death) {
    tracing::warn!(%death, "a worker died during a request");
    ended(if death.is_crash() { "crashed" } else { "died" });
}

/// A permit to run one request at a time. When it is dropped, the next waiter gets it.
pub struct WorkerPermit<'a> {
    pool: &'a WorkerPool,
    since: Instant,
    _permit: SemaphorePermit<'a>,
}

impl Drop for WorkerPermit<'_> {
    fn drop(&mut self) {
        worker_time::add(WorkerTime {
            occupied: self.since.elapsed(),
            ..WorkerTime::default()
        });
    }
}

impl<'a> WorkerPermit<'a> {
    /// The pool that issued it.
    pub(crate) fn pool(&self) -> &'a WorkerPool {
        self.pool
    }

    /// Sends a request to a worker and returns its reply. `timeout` applies to each attempt, from
    /// the time when a worker receives the request. If the worker dies, the request is sent to
    /// another one, at most three times in all. Dropping the future kills the worker that runs the
    /// request.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn ask<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<W::Reply, WorkerError> {
        let request = request::framed(request)?;
        let span = tracing::info_span!("worker", kind = W::KIND, bytes = request.len());
        tokio::select! {
            biased;
            () = self.pool.stopped() => Err(WorkerError::Stopping),
            reply = self.pool.exchange::<W>(&request, timeout).instrument(span) => reply,
        }
    }

    /// The same as [`WorkerPermit::ask`] for untrusted work: on a timeout, tries once more and
    /// decides by the processor time whether the work or the machine is too slow.
    ///
    /// # Errors
    /// [`WorkerError`], also for a timeout that is not the fault of the work.
    pub async fn settle<W: WorkerRequest>(
        &self,
        request: &W,
        timeout: Duration,
    ) -> Result<Settled<W::Reply>, WorkerError> {
        let mut result = self.ask(request, timeout).await;
        if matches!(result, Err(WorkerError::Overran { .. })) {
            result = self.ask(request, timeout).await;
        }
        Settled::of(result, timeout)
    }
}

impl<R> Settled<R> {
    /// The result of the second attempt after a timeout, or of the first one.
    pub(crate) fn of(
        result: Result<R, WorkerError>,
        timeout: Duration,
    ) -> Result<Self, WorkerError> {
        match result {
            Ok(reply) => Ok(Self::Answered(reply)),
            // A worker that had less than half of the processor was slowed down by the machine.
            Err(WorkerError::Overran { cpu, .. }) if cpu > timeout / 2 => Ok(Self::Overran),
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
    fn unresponsive_pool(folder: &std::path::Path) -> (WorkerPool, std::path::PathBuf) {
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
    async fn renewing_replaces_idle_workers() {
        let folder = tempfile::tempdir().unwrap();
        let (workers, _) = unresponsive_pool(folder.path());
        workers.warm().unwrap();
        let take = || workers.take().unwrap();
        let first = take();
        let id = first.id();
        workers.put_back(first);
        let again = take();
        assert_eq!(again.id(), id);
        workers.put_back(again);
        workers.renew();
        let other = take();
        assert_ne!(other.id(), id);
        workers.put_back(other);
        assert!(workers.take().unwrap().is_alive());
    }

    #[tokio::test]
    async fn stopping_kills_workers_and_fails_their_requests() {
        let folder = tempfile::tempdir().unwrap();
        let (workers, id) = unresponsive_pool(folder.path());
        let running = tokio::spawn({
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
        assert!(matches!(running.await.unwrap(), Err(WorkerError::Stopping)));
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
