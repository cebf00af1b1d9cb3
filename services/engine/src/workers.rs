//! Worker threads, one for each core, apart from the async runtime, served fairly between callers.
//!
//! Each caller has its own lane; workers take one job from each lane in turn, so that a caller with
//! ten thousand jobs waiting delays another caller's one job by at most one job a caller.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Stack of a worker. Readers are bounded to a depth of 256; this is room to spare, and only
/// touched pages cost memory.
const STACK_BYTES: usize = 16 << 20;

pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    count: usize,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<FairQueue>,
    ready: Condvar,
}

#[derive(Default)]
struct FairQueue {
    lanes: VecDeque<(Arc<str>, VecDeque<Job>)>,
    closed: bool,
}

impl FairQueue {
    fn push(&mut self, caller: &Arc<str>, jobs: impl IntoIterator<Item = Job>) {
        match self.lanes.iter_mut().find(|(name, _)| name == caller) {
            Some((_, lane)) => lane.extend(jobs),
            None => self
                .lanes
                .push_back((Arc::clone(caller), jobs.into_iter().collect())),
        }
    }

    fn pop(&mut self) -> Option<Job> {
        let (caller, mut lane) = self.lanes.pop_front()?;
        let job = lane.pop_front();
        if !lane.is_empty() {
            self.lanes.push_back((caller, lane));
        }
        job
    }
}

impl Workers {
    /// Starts `count` workers, at least one.
    pub(crate) fn start(count: usize) -> std::io::Result<Self> {
        let count = count.max(1);
        let shared = Arc::new(Shared::default());
        let threads = (0..count)
            .map(|number| {
                let shared = Arc::clone(&shared);
                std::thread::Builder::new()
                    .name(format!("assay-worker-{number}"))
                    .stack_size(STACK_BYTES)
                    .spawn(move || work(&shared))
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            shared,
            threads: Mutex::new(threads),
            count,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Queues jobs of one caller, in order. After [`Workers::stop`] jobs are dropped.
    pub(crate) fn submit(&self, caller: &Arc<str>, jobs: Vec<Job>) {
        let mut queue = self
            .shared
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
            self.shared.ready.notify_all()
        } else {
            self.shared.ready.notify_one()
        }
    }

    /// Lets the workers finish what they hold, drops what still waits, and joins them.
    pub(crate) fn stop(&self) {
        let waiting = {
            let mut queue = self
                .shared
                .queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            queue.closed = true;
            std::mem::take(&mut queue.lanes)
        };
        // Dropped outside the lock: a job's own drop may do anything.
        drop(waiting);
        self.shared.ready.notify_all();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let own = std::thread::current().id();
        // A job may drop the last reference to its engine; its worker cannot wait for itself.
        for thread in threads
            .into_iter()
            .filter(|thread| thread.thread().id() != own)
        {
            // A worker catches every panic of a job, so joining cannot fail; if it ever did,
            // stopping goes on.
            let _ = thread.join();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
    }
}

fn work(shared: &Shared) {
    loop {
        let job = {
            let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                if let Some(job) = queue.pop() {
                    break job;
                }
                if queue.closed {
                    return;
                }
                queue = shared
                    .ready
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        };
        // Graders are isolated one item at a time elsewhere; this keeps a worker alive through a
        // slip of our own.
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a job panicked outside any item");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn callers_take_turns() {
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
    fn a_panicking_job_costs_no_worker() {
        let workers = Workers::start(1).unwrap();
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
    fn a_job_may_drop_its_workers() {
        let workers = Arc::new(Workers::start(1).unwrap());
        let (sent, received) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let held = Arc::clone(&workers);
        let job = move || {
            wait.recv().unwrap();
            drop(held);
            sent.send(()).unwrap();
        };
        workers.submit(&"c".into(), vec![Box::new(job)]);
        drop(workers);
        go.send(()).unwrap();
        received.recv().unwrap();
    }

    #[test]
    fn stopping_drops_what_waits() {
        let workers = Workers::start(1).unwrap();
        workers.stop();
        let (sent, received) = mpsc::channel::<()>();
        workers.submit(&"c".into(), vec![Box::new(move || drop(sent))]);
        assert!(received.recv().is_err());
    }
}
