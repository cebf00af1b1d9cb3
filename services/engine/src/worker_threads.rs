//! Worker threads outside the async runtime, one per core, shared fairly between callers.
//!
//! Each caller has its own queue, and workers take one job from each queue in turn. A caller with
//! ten thousand queued jobs therefore delays another caller's job by at most one job.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Bytes of a worker's stack. Parsers are limited to a depth of 256, which needs far less; pages
/// that are not touched use no memory.
const STACK_BYTES: usize = 16 << 20;

pub(crate) struct WorkerThreads {
    jobs: Arc<SharedQueue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    count: usize,
}

#[derive(Default)]
struct SharedQueue {
    queue: Mutex<FairQueue>,
    ready: Condvar,
}

#[derive(Default)]
struct FairQueue {
    callers: VecDeque<(Arc<str>, VecDeque<Job>)>,
    closed: bool,
}

impl FairQueue {
    fn push(&mut self, caller: &Arc<str>, jobs: impl IntoIterator<Item = Job>) {
        match self.callers.iter_mut().find(|(name, _)| name == caller) {
            Some((_, queue)) => queue.extend(jobs),
            None => self
                .callers
                .push_back((Arc::clone(caller), jobs.into_iter().collect())),
        }
    }

    fn pop(&mut self) -> Option<Job> {
        let (caller, mut queue) = self.callers.pop_front()?;
        let job = queue.pop_front();
        if !queue.is_empty() {
            self.callers.push_back((caller, queue));
        }
        job
    }
}

impl WorkerThreads {
    /// Starts `count` worker threads, at least one.
    pub(crate) fn start(count: usize) -> std::io::Result<Self> {
        let count = count.max(1);
        let jobs = Arc::new(SharedQueue::default());
        let threads = (0..count)
            .map(|number| {
                let jobs = Arc::clone(&jobs);
                std::thread::Builder::new()
                    .name(format!("assay-worker-{number}"))
                    .stack_size(STACK_BYTES)
                    .spawn(move || run_jobs(&jobs))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            jobs,
            threads: Mutex::new(threads),
            count,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Queues jobs of one caller in order. After [`WorkerThreads::stop`] jobs are dropped.
    pub(crate) fn submit(&self, caller: &Arc<str>, jobs: Vec<Job>) {
        let mut queue = self
            .jobs
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if queue.closed {
            return;
        }
        let many = jobs.len() > 1;
        queue.push(caller, jobs);
        drop(queue);
        if many {
            self.jobs.ready.notify_all()
        } else {
            self.jobs.ready.notify_one()
        }
    }

    /// Lets the workers finish their current jobs, drops the queued ones, and joins the threads.
    pub(crate) fn stop(&self) {
        let waiting = {
            let mut queue = self
                .jobs
                .queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            queue.closed = true;
            std::mem::take(&mut queue.callers)
        };
        // Dropped outside the lock, because dropping a job may run arbitrary code.
        drop(waiting);
        self.jobs.ready.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let own = std::thread::current().id();
        // A job may drop the last reference to its engine; a thread cannot join itself.
        for thread in threads
            .into_iter()
            .filter(|thread| thread.thread().id() != own)
        {
            // Workers catch the panics of jobs, so joining does not fail; if it did, the others are
            // joined all the same.
            let _ = thread.join();
        }
    }
}

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run_jobs(jobs: &SharedQueue) {
    loop {
        let job = {
            let mut queue = jobs.queue.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                if let Some(job) = queue.pop() {
                    break job;
                }
                if queue.closed {
                    return;
                }
                queue = jobs
                    .ready
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        };
        // Panics of graders are caught per item elsewhere. This keeps the worker alive if the
        // engine's own code panics.
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a job of a worker thread panicked outside the grading of an item");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn alternates_between_callers() {
        let mut queue = FairQueue::default();
        let (sent, order) = mpsc::channel();
        let job = |name: &'static str| {
            let sent = sent.clone();
            Box::new(move || sent.send(name).unwrap()) as Job
        };
        let (greedy, modest): (Arc<str>, Arc<str>) = ("greedy".into(), "modest".into());
        queue.push(&greedy, [job("g1"), job("g2"), job("g3")]);
        queue.push(&modest, [job("m1")]);
        while let Some(job) = queue.pop() {
            job();
        }
        drop(sent);
        assert_eq!(
            order.try_iter().collect::<Vec<_>>(),
            ["g1", "m1", "g2", "g3"]
        );
    }

    #[test]
    fn a_worker_survives_a_panicking_job() {
        let workers = WorkerThreads::start(1).unwrap();
        let (sent, received) = mpsc::channel();
        let caller: Arc<str> = "c".into();
        workers.submit(
            &caller,
            vec![
                Box::new(|| panic!("on purpose")),
                Box::new(move || sent.send(1).unwrap()),
            ],
        );
        assert_eq!(received.recv().unwrap(), 1);
    }

    #[test]
    fn a_job_may_drop_its_worker_threads() {
        let workers = Arc::new(WorkerThreads::start(1).unwrap());
        let (sent, received) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let clone = Arc::clone(&workers);
        let job = move || {
            wait.recv().unwrap();
            drop(clone);
            sent.send(()).unwrap();
        };
        workers.submit(&"c".into(), vec![Box::new(job)]);
        drop(workers);
        go.send(()).unwrap();
        received.recv().unwrap();
    }

    #[test]
    fn drops_queued_jobs_when_stopped() {
        let workers = WorkerThreads::start(1).unwrap();
        workers.stop();
        let (sent, received) = mpsc::channel::<()>();
        workers.submit(&"c".into(), vec![Box::new(move || drop(sent))]);
        assert!(received.recv().is_err());
    }
}
