//! Requests that are sent to a worker before the reply to the last one is read.

use std::time::Duration;

use assay_tests::processes::{kill, workers_of};
use assay_worker::program::{Reply, Request};
use assay_worker::{Pipeline, WorkerError, WorkerPool};

use crate::programs::workers::marked_pool;
use crate::programs::{TIMEOUT, ask, compile, pool, request, run};

const ECHO: &str = "print(input())";

async fn pipeline(workers: &WorkerPool) -> Pipeline<'_, Request> {
    Pipeline::new(workers.acquire(TIMEOUT).await.unwrap())
}

/// The standard output of a run.
fn output(reply: Result<Reply, WorkerError>) -> String {
    match reply.unwrap() {
        Reply::Ran(ran) => String::from_utf8(ran.stdout).unwrap(),
        other => panic!("not run: {other:?}"),
    }
}

#[tokio::test]
async fn replies_belong_to_their_requests() {
    let (workers, _folder, link) = marked_pool(1);
    let code = compile(&workers, ECHO).await;
    let before = workers_of(&link);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|input| request(&code, input));
    let mut pipeline = pipeline(&workers).await;
    assert_eq!(output(pipeline.ask(&a, Some(&b), TIMEOUT).await), "a\n");
    assert_eq!(output(pipeline.ask(&b, Some(&c), TIMEOUT).await), "b\n");
    // The reply to `c` is discarded.
    assert_eq!(output(pipeline.ask(&d, Some(&a), TIMEOUT).await), "d\n");
    assert_eq!(output(pipeline.ask(&a, Some(&b), TIMEOUT).await), "a\n");
    pipeline.finish().await;
    // The reply to `b` was discarded.
    assert_eq!(run(&workers, &code, "e").await.stdout, b"e\n");
    assert_eq!(workers_of(&link), before, "the worker is used again");
    workers.stop().await;
}

#[tokio::test]
async fn long_requests_are_not_sent_ahead() {
    let workers = pool(1);
    let code = compile(&workers, ECHO).await;
    let long = "x".repeat(100_000);
    let [short, long] = ["short", &long].map(|input| request(&code, input));
    let mut pipeline = pipeline(&workers).await;
    assert_eq!(
        output(pipeline.ask(&short, Some(&long), TIMEOUT).await),
        "short\n"
    );
    assert_eq!(
        output(pipeline.ask(&long, Some(&short), TIMEOUT).await).len(),
        100_001
    );
    assert_eq!(output(pipeline.ask(&short, None, TIMEOUT).await), "short\n");
    pipeline.finish().await;
    workers.stop().await;
}

#[tokio::test]
async fn a_request_of_a_dead_worker_is_sent_to_another() {
    let (workers, _folder, link) = marked_pool(1);
    let code = compile(&workers, ECHO).await;
    let before = workers_of(&link);
    let [a, b] = ["a", "b"].map(|input| request(&code, input));
    let mut pipeline = pipeline(&workers).await;
    assert_eq!(output(pipeline.ask(&a, None, TIMEOUT).await), "a\n");
    before.iter().for_each(|worker| kill(*worker));
    assert_eq!(output(pipeline.ask(&b, Some(&a), TIMEOUT).await), "b\n");
    assert_eq!(output(pipeline.ask(&a, None, TIMEOUT).await), "a\n");
    pipeline.finish().await;
    assert!(workers_of(&link).is_disjoint(&before));
    workers.stop().await;
}

#[tokio::test]
async fn dropping_it_kills_a_worker_with_a_request() {
    let (workers, _folder, link) = marked_pool(1);
    let (echo, endless) = (
        compile(&workers, ECHO).await,
        compile(&workers, "while True: pass").await,
    );
    let before = workers_of(&link);
    let mut pipeline = pipeline(&workers).await;
    let replied = pipeline
        .ask(&request(&echo, "a"), Some(&request(&endless, "")), TIMEOUT)
        .await;
    assert_eq!(output(replied), "a\n");
    drop(pipeline);
    let answered = ask(&workers, &echo, "b", Duration::from_secs(60)).await;
    assert_eq!(answered.unwrap().stdout, b"b\n");
    assert!(workers_of(&link).is_disjoint(&before));
    workers.stop().await;
}

#[tokio::test]
async fn an_endless_request_overruns_and_the_next_one_is_answered() {
    let workers = pool(1);
    let (echo, endless) = (
        compile(&workers, ECHO).await,
        compile(&workers, "while True: pass").await,
    );
    let [echo, endless] = [request(&echo, "a"), request(&endless, "")];
    let mut pipeline = pipeline(&workers).await;
    assert_eq!(
        output(pipeline.ask(&echo, Some(&endless), TIMEOUT).await),
        "a\n"
    );
    let overran = pipeline
        .ask(&endless, Some(&echo), Duration::from_millis(300))
        .await;
    assert!(
        matches!(overran, Err(WorkerError::Overran { .. })),
        "{overran:?}"
    );
    assert_eq!(output(pipeline.ask(&echo, None, TIMEOUT).await), "a\n");
    pipeline.finish().await;
    workers.stop().await;
}
