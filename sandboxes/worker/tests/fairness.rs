//! How callers share the workers of a pool. The workers are shell scripts that write which requests
//! they receive and answer.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_core::worker_use::{WorkerTime, measured};
use assay_worker::{Message, Pipeline, WorkerError, WorkerOptions, WorkerPool, WorkerRequest};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::task::JoinHandle;

const TIMEOUT: Duration = Duration::from_secs(600);

/// A worker that answers. Scripts are not written by tests: a process that another thread starts
/// meanwhile would keep them open for writing, so that they could not be run.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts/answering.sh");

/// A request with a name. Those whose name starts with `long` are answered when [`Pool::finish`]
/// was called.
#[derive(Serialize, Deserialize)]
struct Job(String);

/// The reply to a job.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Done;

impl Message for Job {
    assay_worker::coded_by_serde!();
}

impl Message for Done {
    assay_worker::coded_by_serde!();
}

impl WorkerRequest for Job {
    type Reply = Done;
    const KIND: u8 = 200;

    fn probe() -> Self {
        Self(String::new())
    }
}

/// A pool of scripts.
struct Pool {
    workers: WorkerPool,
    folder: TempDir,
}

/// A line that a worker wrote: its process, and the name of a request.
type Line = (u32, String);

type Answer = (Result<Done, WorkerError>, WorkerTime);

impl Pool {
    fn new(count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workers = WorkerPool::new(WorkerOptions {
            program: SCRIPT.into(),
            arguments: vec![folder.path().into()],
            count,
            uses: u32::MAX,
        });
        Self { workers, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lines(&self, file: &str) -> Vec<Line> {
        let text = std::fs::read_to_string(self.path(file)).unwrap_or_default();
        let lines = text.lines().map(|line| line.split_once(' ').unwrap());
        lines
            .map(|(id, name)| (id.parse().unwrap(), name.to_owned()))
            .collect()
    }

    /// The workers that received the request, in order.
    fn received(&self, name: &str) -> Vec<u32> {
        of(&self.lines("received"), name)
    }

    /// The workers that answered the request.
    fn answered(&self, name: &str) -> Vec<u32> {
        of(&self.lines("answered"), name)
    }

    /// Lets the workers answer long requests.
    fn finish(&self) {
        std::fs::write(self.path("finish"), "").unwrap();
    }

    async fn ask(&self, caller: &str, name: &str) -> Answer {
        ask(&self.workers, caller, name).await
    }

    /// Sends a request of a caller, and returns when a worker has received it.
    async fn start(&self, caller: &'static str, name: &'static str) -> JoinHandle<Answer> {
        let workers = self.workers.clone();
        let task = tokio::spawn(async move { ask(&workers, caller, name).await });
        until(|| !self.received(name).is_empty()).await;
        task
    }
}

async fn ask(workers: &WorkerPool, caller: &str, name: &str) -> Answer {
    let request = Job(name.to_owned());
    measured(&caller.into(), workers.ask(&request, TIMEOUT)).await
}

fn of(lines: &[Line], name: &str) -> Vec<u32> {
    let lines = lines.iter().filter(|(_, of)| of == name);
    lines.map(|(id, _)| *id).collect()
}

async fn until(mut is_true: impl FnMut() -> bool) {
    while !is_true() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The state of a process, `T` if it is stopped; `None` if it has ended.
fn state(id: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let state = stat.rsplit(')').next()?.trim_start().chars().next()?;
    (state != 'Z').then_some(state)
}

#[tokio::test]
async fn a_long_request_is_suspended_while_another_caller_waits() {
    let pool = Pool::new(1);
    let long = pool.start("a", "long").await;
    // Several times: the request continues in between.
    for name in ["b1", "b2", "b3"] {
        let (answer, time) = pool.ask("b", name).await;
        answer.unwrap();
        assert!(time.waited > Duration::ZERO);
        // The task that continues it has not run since.
        assert_eq!(state(pool.received("long")[0]), Some('T'));
        assert_ne!(pool.received(name), pool.received("long"));
    }
    assert!(pool.answered("long").is_empty());
    pool.finish();
    let (answer, time) = long.await.unwrap();
    answer.unwrap();
    assert!(time.waited > Duration::ZERO && time.occupied > Duration::ZERO);
    assert_eq!(pool.received("long").len(), 1, "no work was lost");
    assert_eq!(pool.answered("long"), pool.received("long"));
    pool.workers.stop().await;
}

#[tokio::test]
async fn the_caller_with_the_most_workers_gives_one() {
    let pool = Pool::new(3);
    let mut long = Vec::new();
    for (caller, name) in [("b", "long b"), ("a", "long a1"), ("a", "long a2")] {
        long.push(pool.start(caller, name).await);
    }
    pool.ask("c", "c").await.0.unwrap();
    let states = ["long b", "long a1", "long a2"].map(|name| state(pool.received(name)[0]));
    let [b, a1, a2] = states.map(|state| state == Some('T'));
    assert!(!b && a1 != a2, "{states:?}");
    pool.finish();
    for long in long {
        long.await.unwrap().0.unwrap();
    }
    assert_eq!(pool.lines("received").len(), 4, "no work was lost");
    pool.workers.stop().await;
}

#[tokio::test]
async fn requests_are_restarted_if_too_many_are_suspended() {
    let pool = Pool::new(1);
    let names = ["long a", "long b"];
    let long = [
        pool.start("a", names[0]).await,
        // Suspends the first one.
        pool.start("b", names[1]).await,
    ];
    pool.ask("c", "c").await.0.unwrap();
    let attempts = names.map(|name| pool.received(name).len());
    assert!(names.iter().all(|name| pool.answered(name).is_empty()));
    pool.finish();
    for (long, name) in long.into_iter().zip(names) {
        long.await.unwrap().0.unwrap();
        assert_eq!(pool.answered(name).len(), 1);
    }
    let killed = names.map(|name| pool.received(name).len() - 1);
    assert_eq!(killed.iter().sum::<usize>(), 1, "{attempts:?}");
    pool.workers.stop().await;
}

#[tokio::test]
async fn an_unused_permit_returns_to_the_suspended_request() {
    let pool = Pool::new(1);
    let long = pool.start("a", "long").await;
    let worker = pool.received("long")[0];
    let caller = "b".into();
    let (permit, _) = measured(&caller, pool.workers.acquire(TIMEOUT)).await;
    until(|| state(worker) == Some('T')).await;
    drop(permit);
    until(|| state(worker) != Some('T')).await;
    pool.finish();
    long.await.unwrap().0.unwrap();
    assert_eq!(pool.received("long"), [worker]);
    pool.workers.stop().await;
}

#[tokio::test]
async fn an_abandoned_suspended_request_ends_its_worker() {
    let pool = Pool::new(1);
    let long = pool.start("a", "long").await;
    let worker = pool.received("long")[0];
    let caller = "b".into();
    let (permit, _) = measured(&caller, pool.workers.acquire(TIMEOUT)).await;
    until(|| state(worker) == Some('T')).await;
    long.abort();
    until(|| state(worker).is_none()).await;
    drop(permit);
    assert_eq!(pool.workers.free(), 1);
    pool.ask("c", "c").await.0.unwrap();
    pool.workers.stop().await;
}

#[tokio::test]
async fn stopping_fails_suspended_requests() {
    let pool = Pool::new(1);
    let first = pool.start("a", "long a").await;
    let second = pool.start("b", "long b").await;
    let worker = pool.received("long a")[0];
    pool.workers.stop().await;
    for task in [first, second] {
        let (answer, _) = task.await.unwrap();
        assert!(matches!(answer, Err(WorkerError::Stopping)), "{answer:?}");
    }
    until(|| state(worker).is_none()).await;
}

/// Sends short requests of one caller with one permit until `is_done`. Returns their number.
async fn many(pool: &Pool, is_done: &AtomicBool, is_pipeline: bool) -> usize {
    let work = async {
        let mut permit = pool.workers.acquire(TIMEOUT).await.unwrap();
        let mut count = 0;
        if is_pipeline {
            let mut pipeline = Pipeline::new(permit);
            while !is_done.load(Ordering::Relaxed) {
                let [now, next] = [count, count + 1].map(|number| Job(format!("a{number}")));
                pipeline.ask(&now, Some(&next), TIMEOUT).await.unwrap();
                count += 1;
            }
            pipeline.finish().await;
        } else {
            while !is_done.load(Ordering::Relaxed) {
                let request = Job(format!("a{count}"));
                permit.ask(&request, TIMEOUT).await.unwrap();
                count += 1;
            }
        }
        count
    };
    measured(&"a".into(), work).await.0
}

async fn a_permit_is_passed_on(is_pipeline: bool) {
    let pool = Pool::new(1);
    let is_done = AtomicBool::new(false);
    let other = async {
        until(|| pool.lines("answered").len() > 2).await;
        pool.ask("b", "b").await.0.unwrap();
        is_done.store(true, Ordering::Relaxed);
    };
    let (count, ()) = tokio::join!(many(&pool, &is_done, is_pipeline), other);
    assert!(count > 2);
    for number in 0..count {
        assert_eq!(pool.received(&format!("a{number}")).len(), 1);
    }
    pool.workers.stop().await;
}

#[tokio::test]
async fn a_permit_is_passed_on_between_requests() {
    a_permit_is_passed_on(false).await;
}

#[tokio::test]
async fn a_pipeline_is_passed_on_between_requests() {
    a_permit_is_passed_on(true).await;
}
