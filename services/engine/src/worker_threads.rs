//! Worker threads outside the async runtime, shared fairly between callers.
//!
//! Each caller has its own queue, and a free thread takes a job of the caller that has the fewest
//! running, in turn among equals. A caller with ten thousand queued jobs therefore delays another
//! caller's job by at most one job.
//!
//! A caller runs as many jobs at once as there are cores, and there are twice as many threads, so
//! that one caller with long jobs does not delay others: the system divides the cores. Two such
//! callers can, until one of their jobs ends.
//!
//! Work in the [background](assay_core::background) has one thread while there is other work.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};

use assay_core::background::is_background;
use tokio::sync::oneshot;

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Bytes of a worker's stack. Parsers are limited to a depth of 256, which needs far less; pages
/// that are not touched use no memory.
const STACK_BYTES: usize = 16 << 20;

/// Threads for each job that a caller may run at once.
const THREADS_PER_JOB: usize = 2;

pub(crate) struct WorkerThreads {
    jobs: Arc<SharedQueue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    count: usize,
}

struct SharedQueue(Mutex<Shared>);

impl SharedQueue {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue and the threads that wait for it.
struct Shared {
    queue: FairQueue,
    /// Threads without a job. The last one became idle last, so its caches are warm: it is woken
    /// first.
    idle: Vec<Thread>,
    /// Threads that were woken and have not looked for a job yet.
    waking: usize,
}

impl Shared {
    /// Wakes as many threads as jobs can start.
    fn wake(&mut self) {
        let wanted = self.queue.startable().saturating_sub(self.waking);
        let kept = self.idle.len().saturating_sub(wanted);
        for thread in self.idle.drain(kept..).rev() {
            self.waking += 1;
            thread.unpark();
        }
    }
}

/// The jobs of all callers.
struct FairQueue {
    /// Callers with queued or running jobs. The one that started a job most recently is last.
    callers: VecDeque<CallerJobs>,
    /// Most jobs that a caller runs at once.
    per_caller: usize,
    closed: bool,
}

/// Where jobs are queued among those of their caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// After all others.
    Last,
    /// Before all others, because they use memory until they are done.
    Next,
}

struct CallerJobs {
    name: Arc<str>,
    queued: VecDeque<Job>,
    running: usize,
}

impl FairQueue {
    fn new(per_caller: usize) -> Self {
        Self {
            callers: VecDeque::new(),
            per_caller,
            closed: false,
        }
    }

    fn push(&mut self, caller: &Arc<str>, place: Place, jobs: Vec<Job>) {
        match self.callers.iter_mut().find(|jobs| jobs.name == *caller) {
            Some(existing) => match place {
                Place::Last => existing.queued.extend(jobs),
                Place::Next => jobs
                    .into_iter()
                    .rev()
                    .for_each(|job| existing.queued.push_front(job)),
            },
            None => self.callers.push_back(CallerJobs {
                name: Arc::clone(caller),
                queued: jobs.into(),
                running: 0,
            }),
        }
    }

    /// Whether there is work that is not in the background.
    fn has_requests(&self) -> bool {
        self.callers.iter().any(|jobs| !is_background(&jobs.name))
    }

    /// How many jobs of a caller can start. `has_requests`: whether work in the background gives
    /// way.
    fn startable_of(&self, jobs: &CallerJobs, has_requests: bool) -> usize {
        let most = if has_requests && is_background(&jobs.name) {
            1
        } else {
            self.per_caller
        };
        jobs.queued.len().min(most.saturating_sub(jobs.running))
    }

    /// How many jobs of all callers can start.
    fn startable(&self) -> usize {
        let has_requests = self.has_requests();
        let callers = self.callers.iter();
        callers
            .map(|jobs| self.startable_of(jobs, has_requests))
            .sum()
    }

    /// The next job, which is running until [`FairQueue::finished`] is called for its caller.
    fn pop(&mut self) -> Option<(Arc<str>, Job)> {
        let has_requests = self.has_requests();
        let callers = self.callers.iter().enumerate();
        let (next, _) = callers
            .filter(|(_, jobs)| self.startable_of(jobs, has_requests) > 0)
            .min_by_key(|(_, jobs)| jobs.running)?;
        let mut jobs = self.callers.remove(next)?;
        let job = jobs.queued.pop_front();
        jobs.running += 1;
        let name = Arc::clone(&jobs.name);
        self.callers.push_back(jobs);
        job.map(|job| (name, job))
    }

    /// A job of this caller has ended.
    fn finished(&mut self, caller: &Arc<str>) {
        let Some(at) = self.callers.iter().position(|jobs| jobs.name == *caller) else {
            return;
        };
        let jobs = &mut self.callers[at];
        jobs.running = jobs.running.saturating_sub(1);
        if jobs.running == 0 && jobs.queued.is_empty() {
            self.callers.remove(at);
        }
    }
}

impl WorkerThreads {
    /// Starts the threads. A caller runs at most `count` jobs at once, at least one.
    pub(crate) fn start(count: usize) -> std::io::Result<Self> {
        let count = count.max(1);
        let jobs = Arc::new(SharedQueue(Mutex::new(Shared {
            queue: FairQueue::new(count),
            idle: Vec::new(),
            waking: 0,
        })));
        let threads = (0..count.saturating_mul(THREADS_PER_JOB))
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

    /// Most jobs that a caller runs at once.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Queues jobs of one caller in order, after its others. After [`WorkerThreads::stop`] jobs are
    /// dropped.
    pub(crate) fn submit(&self, caller: &Arc<str>, jobs: Vec<Job>) {
        self.submit_at(caller, Place::Last, jobs);
    }

    /// The same at a place among the jobs of the caller.
    pub(crate) fn submit_at(&self, caller: &Arc<str>, place: Place, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut shared = self.jobs.lock();
        if shared.queue.closed {
            return;
        }
        shared.queue.push(caller, place, jobs);
        shared.wake();
    }

    /// Runs `work` of one caller on a thread; `None` if the threads are stopped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        caller: &Arc<str>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        // If the receiver is gone, nobody needs the result.
        self.submit(caller, vec![Box::new(move || drop(sender.send(work())))]);
        receiver.await.ok()
    }

    /// Lets the workers finish their current jobs, drops the queued ones, and joins the threads.
    pub(crate) fn stop(&self) {
        let waiting = {
            let mut shared = self.jobs.lock();
            shared.queue.closed = true;
            for thread in shared.idle.drain(..) {
                thread.unpark();
            }
            std::mem::take(&mut shared.queue.callers)
        };
        // Dropped outside the lock, because dropping a job may run arbitrary code.
        drop(waiting);
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
    let own = std::thread::current();
    let mut shared = jobs.lock();
    loop {
        let Some((caller, job)) = shared.queue.pop() else {
            if shared.queue.closed {
                return;
            }
            shared.idle.push(own.clone());
            drop(shared);
            std::thread::park();
            shared = jobs.lock();
            match shared
                .idle
                .iter()
                .position(|thread| thread.id() == own.id())
            {
                // `park` may return without a reason.
                Some(at) => drop(shared.idle.remove(at)),
                None => shared.waking = shared.waking.saturating_sub(1),
            }
            continue;
        };
        // When a job ends, its thread may take one of another caller, and leave a job that can
        // start now to a thread that waits.
        shared.wake();
        drop(shared);
        // Panics of graders are caught per item elsewhere. This keeps the worker alive if the
        // engine's own code panics.
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a job of a worker thread panicked outside the grading of an item");
        }
        shared = jobs.lock();
        shared.queue.finished(&caller);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use assay_core::background::share_of;

    use super::*;

    #[test]
    fn alternates_between_callers() {
        let mut queue = FairQueue::new(1);
        let (sent, order) = mpsc::channel();
        let job = |name: &'static str| {
            let sent = sent.clone();
            Box::new(move || sent.send(name).unwrap()) as Job
        };
        let (greedy, modest): (Arc<str>, Arc<str>) = ("greedy".into(), "modest".into());
        queue.push(&greedy, Place::Last, vec![job("g2"), job("g3")]);
        queue.push(&modest, Place::Last, vec![job("m1")]);
        queue.push(&greedy, Place::Next, vec![job("g0"), job("g1")]);
        while let Some((caller, job)) = queue.pop() {
            job();
            queue.finished(&caller);
        }
        assert!(queue.callers.is_empty());
        drop(sent);
        assert_eq!(
            order.try_iter().collect::<Vec<_>>(),
            ["g0", "m1", "g1", "g2", "g3"]
        );
    }

    #[test]
    fn prefers_the_caller_with_the_fewest_running_jobs() {
        let mut queue = FairQueue::new(2);
        let names = ["a", "b"].map(Arc::<str>::from);
        let [a, b] = &names;
        let jobs = |count: usize| (0..count).map(|_| Box::new(|| ()) as Job).collect();
        queue.push(a, Place::Last, jobs(5));
        let pop = |queue: &mut FairQueue| queue.pop().map(|(name, _)| name.to_string());
        assert_eq!(pop(&mut queue).as_deref(), Some("a"));
        assert_eq!(pop(&mut queue).as_deref(), Some("a"));
        // The limit of a caller.
        assert_eq!(pop(&mut queue), None);
        assert_eq!(queue.startable(), 0);
        queue.push(b, Place::Last, jobs(3));
        assert_eq!(pop(&mut queue).as_deref(), Some("b"));
        queue.finished(a);
        // Each has one running, and `a` started its last job earlier.
        assert_eq!(pop(&mut queue).as_deref(), Some("a"));
        assert_eq!(pop(&mut queue).as_deref(), Some("b"));
        assert_eq!(pop(&mut queue), None);
    }

    #[test]
    fn work_in_the_background_has_one_thread_beside_other_work() {
        let mut queue = FairQueue::new(2);
        let (background, request) = (share_of("a"), Arc::<str>::from("a"));
        let jobs = |count: usize| (0..count).map(|_| Box::new(|| ()) as Job).collect();
        let pop = |queue: &mut FairQueue| queue.pop().map(|(name, _)| name);
        queue.push(&background, Place::Last, jobs(4));
        assert_eq!(queue.startable(), 2);
        assert_eq!(pop(&mut queue).as_ref(), Some(&background));
        queue.push(&request, Place::Last, jobs(2));
        assert_eq!(pop(&mut queue).as_ref(), Some(&request));
        assert_eq!(pop(&mut queue).as_ref(), Some(&request));
        assert_eq!(queue.startable(), 0);
        queue.finished(&request);
        assert_eq!(pop(&mut queue), None);
        queue.finished(&background);
        assert_eq!(pop(&mut queue).as_ref(), Some(&background), "not starved");
        queue.finished(&request);
        assert_eq!(pop(&mut queue).as_ref(), Some(&background));
    }

    #[test]
    fn a_caller_does_not_wait_for_the_long_jobs_of_another() {
        let workers = WorkerThreads::start(1).unwrap();
        let (started, has_started) = mpsc::channel();
        let (release, wait) = mpsc::channel::<()>();
        let long = move || {
            started.send(()).unwrap();
            wait.recv().unwrap();
        };
        workers.submit(&"long".into(), vec![Box::new(long)]);
        has_started.recv().unwrap();
        let (sent, received) = mpsc::channel();
        workers.submit(
            &"short".into(),
            vec![Box::new(move || sent.send(7).unwrap())],
        );
        assert_eq!(received.recv().unwrap(), 7);
        release.send(()).unwrap();
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
