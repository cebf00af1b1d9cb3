//! The pool of workers: starts them, keeps the idle ones, and replaces those that die.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::WorkerError;
use crate::metrics::{self, ended};
use crate::options::WorkerOptions;
use crate::process::Worker;
use crate::scheduler::Scheduler;

/// A pool of workers, which are started when they are first needed. Cheap to clone: clones share
/// the workers.
#[derive(Clone)]
pub struct WorkerPool(Arc<PoolState>);

struct PoolState {
    options: WorkerOptions,
    /// Decides which requests run, in this pool and its siblings.
    scheduler: Scheduler,
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
        let scheduler = Scheduler::new(options.count);
        Self::with_scheduler(options, scheduler)
    }

    /// A pool for another kind of work. It has its own processes and shares the limit on running
    /// requests: together both pools run as many requests at once as this one does alone.
    #[must_use]
    pub fn sibling(&self, options: WorkerOptions) -> Self {
        Self::with_scheduler(
            WorkerOptions {
                count: self.count(),
                ..options
            },
            self.0.scheduler.clone(),
        )
    }

    fn with_scheduler(options: WorkerOptions, scheduler: Scheduler) -> Self {
        metrics::describe();
        let stopping = watch::Sender::new(false);
        Self(Arc::new(PoolState {
            options,
            scheduler,
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
        self.0.scheduler.free()
    }

    /// Most requests that run at once.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.options.count.max(1)
    }

    /// Rejects further requests, fails running ones with [`WorkerError::Stopping`], and kills all
    /// workers. Sibling pools get no more permits; their idle workers end when those pools are
    /// stopped or dropped.
    pub async fn stop(&self) {
        self.0.stopping.send_replace(true);
        self.0.scheduler.close();
        let idle = std::mem::take(&mut *self.idle());
        for worker in idle {
            worker.stop().await;
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

    /// Returns a worker to the idle ones, or kills it if there are enough or the pool is stopping.
    pub(crate) fn put_back(&self, worker: Worker) {
        let mut idle = self.idle();
        // Checked under the lock: `stop` sets the flag before it takes the idle workers. Suspended
        // workers can make the number of workers larger than the number of requests that run.
        if !*self.0.stopping.borrow() && idle.len() < self.count() {
            idle.push(worker);
        }
    }

    /// Starts a replacement for a worker that is not reused for this reason, before a request needs
    /// it.
    pub(crate) fn replace(&self, reason: &'static str) {
        ended(reason);
        if self.idle().len() >= self.count() {
            return;
        }
        match self.start() {
            Ok(worker) => self.put_back(worker),
            // The next request that needs a worker tries again and returns the error.
            Err(error) => tracing::warn!(%error, "cannot replace a worker"),
        }
    }

    /// Decides which requests run.
    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.0.scheduler
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::program;
    use crate::request::WorkerRequest as _;

    /// A pool with one worker that writes its process id to a file and never answers.
    fn unresponsive_pool(folder: &std::path::Path) -> (WorkerPool, std::path::PathBuf) {
        let id = folder.join("id");
        (
            WorkerPool::new(WorkerOptions {
                program: concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts/unresponsive.sh")
                    .into(),
                arguments: vec![id.clone().into()],
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
