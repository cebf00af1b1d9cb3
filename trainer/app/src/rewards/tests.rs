//! Tests of both connections, of unavailable services, and of rejected and failed items.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

fn config(database: &str) -> Config {
    let mut config = Config::default();
    config.store.database = database.into();
    config.engine.workers = 1;
    // The tasks of these tests need no sandbox worker, and the test binary cannot be one.
    config.sandbox_workers.program = "no-worker".into();
    config
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn submission<'a>(
    group: &str,
    index: usize,
    completion: &'a str,
    task: &'a RawValue,
) -> Submission<'a> {
    Submission {
        id: format!("{group}-{index}"),
        group: group.to_owned(),
        prompt_key: Some("sum"),
        channel: Some("sums"),
        prompt: "1+1=",
        completion,
        task,
        tokens: 3,
        truncated: false,
        sample: None,
    }
}

/// Two groups with interleaved members, and a task with an empty gold answer.
fn step<'a>(task: &'a RawValue, faulty: &'a RawValue) -> Vec<Submission<'a>> {
    vec![
        submission("a", 0, "2", task),
        submission("b", 0, "3", task),
        submission("a", 1, "3", task),
        submission("b", 1, "3", task),
        submission("c", 0, "2", faulty),
        submission("b", 2, "2", task),
    ]
}

/// A node that serves HTTP; aborting the handle ends it.
async fn serve(database: &str) -> (String, Node, tokio::task::JoinHandle<()>) {
    let node = Node::start(config(database)).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // `Node::serve` is not used, because it would start sandbox workers.
    let serving = tokio::spawn(assay_api::serve(
        listener,
        node.api().unwrap(),
        std::future::pending(),
    ));
    (url, node, serving)
}

const TASK: &str = r#"{"type":"math","answer":"2"}"#;
const FAULTY: &str = r#"{"type":"math","answer":""}"#;

#[tokio::test]
async fn both_connections_return_the_same_results() {
    let (task, faulty) = (raw(TASK), raw(FAULTY));
    let submissions = step(&task, &faulty);
    let (url, node, serving) = serve("").await;
    let served = Rewards::served(&url, Settings::default()).unwrap();
    let embedded = Rewards::embedded(config(""), Settings::default())
        .await
        .unwrap();
    let statistics = ["p_hat".to_owned(), "rloo".to_owned()];
    let over_http = served
        .grade("run", 3, None, &statistics, &submissions)
        .await
        .unwrap();
    let in_process = embedded
        .grade("run", 3, None, &statistics, &submissions)
        .await
        .unwrap();
    assert_eq!(over_http, in_process);

    let items = &in_process.items;
    let scores: Vec<_> = items.iter().map(|item| item.score).collect();
    assert_eq!(
        scores,
        [Some(1.0), Some(0.0), Some(0.0), Some(0.0), None, Some(1.0)]
    );
    let statistics: Vec<_> = items.iter().map(|item| item.statistic).collect();
    assert_eq!(
        statistics,
        [
            Some(1.0),
            Some(-0.5),
            Some(-1.0),
            Some(-0.5),
            None,
            Some(1.0)
        ]
    );
    assert_eq!(items[0].advantage, Some(0.5));
    let masked = &items[4];
    assert_eq!(
        (masked.outcome, masked.reward, masked.pass, masked.advantage),
        (Outcome::Ungradable, None, None, None)
    );
    let counts: Vec<_> = in_process
        .groups
        .iter()
        .map(|group| (group.group.as_str(), group.n, group.graded))
        .collect();
    assert_eq!(counts, [("a", 2, 2), ("b", 3, 3), ("c", 1, 0)]);
    assert_eq!(in_process.groups[1].statistics["p_hat"]["passes"], 1);
    assert_eq!(
        in_process
            .faults
            .values()
            .map(|fault| fault.items)
            .collect::<Vec<_>>(),
        [1]
    );
    assert_eq!(
        in_process.channels.keys().collect::<Vec<_>>(),
        ["math/sums"]
    );
    embedded.stop().await;
    serving.abort();
    node.stop().await;
}

#[tokio::test]
async fn splitting_requests_does_not_change_results() {
    let (task, faulty) = (raw(TASK), raw(FAULTY));
    let submissions = step(&task, &faulty);
    let graded = async |settings: Settings, limit: usize| {
        let mut config = config("");
        config.server.batch_items = limit;
        let rewards = Rewards::embedded(config, settings).await.unwrap();
        let graded = rewards.grade("run", 3, None, &[], &submissions).await;
        rewards.stop().await;
        graded
    };
    let whole = graded(Settings::default(), 100).await.unwrap();
    assert_eq!(
        graded(
            Settings {
                batch_items: 3,
                ..Settings::default()
            },
            100
        )
        .await
        .unwrap(),
        whole
    );
    // The limit of the service is lower: requests are halved after its error, down to single
    // groups.
    assert_eq!(graded(Settings::default(), 3).await.unwrap(), whole);
    let error = graded(Settings::default(), 2).await.unwrap_err();
    assert!(
        matches!(&error, RewardsError::GroupTooLarge { group, .. } if group == "b"),
        "{error}"
    );
}

#[tokio::test]
async fn rejected_tasks_are_ungradable() {
    let (task, malformed) = (raw(TASK), raw(r#"{"type":"math","anser":"2"}"#));
    let submissions = step(&task, &malformed);
    let rewards = Rewards::embedded(config(""), Settings::default())
        .await
        .unwrap();
    let results = rewards
        .grade("run", 0, None, &[], &submissions)
        .await
        .unwrap();
    assert_eq!(
        (results.items[4].outcome, results.items[4].score),
        (Outcome::Ungradable, None)
    );
    assert_eq!(results.faults["invalid_task"].items, 1);
    assert_eq!(results.items[0].score, Some(1.0));
    // An error of the request itself is not attributed to an item.
    let error = rewards
        .grade("run", 0, Some("none"), &[], &submissions)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, RewardsError::Rejected(problem)
            if problem.code == ErrorCode::UnknownPolicy),
        "{error}"
    );
    rewards.stop().await;
}

#[tokio::test]
async fn records_a_repeated_step_once() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("assay.db").display());
    let (task, faulty) = (raw(TASK), raw(FAULTY));
    let submissions = step(&task, &faulty);
    let mut results = Vec::new();
    for _ in 0..2 {
        let rewards = Rewards::embedded(config(&database), Settings::default())
            .await
            .unwrap();
        results.push(
            rewards
                .grade("run", 3, None, &[], &submissions)
                .await
                .unwrap(),
        );
        rewards.stop().await;
    }
    assert_eq!(results[0], results[1]);
    let (url, node, serving) = serve(&database).await;
    let grades = Client::new(&url, Retry::default())
        .unwrap()
        .grades(&[])
        .await
        .unwrap();
    assert_eq!(grades.grades.len(), submissions.len());
    serving.abort();
    node.stop().await;
}

#[tokio::test]
async fn shuffles_results_by_seed_and_step() {
    let (task, faulty) = (raw(TASK), raw(FAULTY));
    let submissions = step(&task, &faulty);
    let graded = async |shuffled: Option<u64>, step: u64| {
        let rewards = Rewards::embedded(
            config(""),
            Settings {
                shuffled,
                ..Settings::default()
            },
        )
        .await
        .unwrap();
        let results = rewards
            .grade("run", step, None, &[], &submissions)
            .await
            .unwrap();
        rewards.stop().await;
        results
    };
    let (plain, shuffled, repeated) = (
        graded(None, 1).await,
        graded(Some(5), 1).await,
        graded(Some(5), 1).await,
    );
    assert_eq!(shuffled, repeated);
    let scores = |results: &StepResults| {
        let items = results.items.iter();
        items.map(|item| item.score).collect::<Vec<_>>()
    };
    assert_ne!(scores(&plain), scores(&shuffled));
    let passes = |results: &StepResults| {
        let items = results.items.iter();
        items.filter(|item| item.pass == Some(true)).count()
    };
    assert_eq!(
        (passes(&plain), plain.faults),
        (passes(&shuffled), shuffled.faults.clone())
    );
    let others = [2, 3, 4].map(|step| graded(Some(5), step));
    let mut orders = vec![scores(&shuffled)];
    for other in others {
        orders.push(scores(&other.await));
    }
    orders.dedup();
    assert!(orders.len() > 1, "steps have different orders");
}

#[tokio::test]
async fn preflight_reports_missing_graders_and_faulty_tasks() {
    let rewards = Rewards::embedded(config(""), Settings::default())
        .await
        .unwrap();
    let (task, faulty, unknown) = (raw(TASK), raw(FAULTY), raw(r#"{"type":"chess"}"#));
    let good = samples([
        ("1+1=", &*faulty, None),
        ("1+1=", &*task, Some("2")),
        ("1+1=", &*faulty, None),
    ]);
    assert_eq!((good.len(), good[0].solution.as_deref()), (1, Some("2")));
    rewards.preflight(&good).await.unwrap();
    for (sample, part) in [(&unknown, "no grader `chess`"), (&faulty, "type `math`")] {
        let error = rewards
            .preflight(&samples([("?", &**sample, None)]))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, RewardsError::Preflight(reason) if reason.contains(part)),
            "{error}"
        );
    }
    rewards.stop().await;
}

#[tokio::test]
async fn suggestions_require_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("assay.db").display());
    let task = raw(TASK);
    let request = SuggestRequest {
        run: "run".to_owned(),
        keys: vec!["sum".to_owned(), "other".to_owned()],
        categories: Default::default(),
        channel: None,
        seed: Some(1),
        settings: serde_json::Map::from_iter([("count".to_owned(), Value::from(2))]),
    };
    let without = Rewards::embedded(config(""), Settings::default())
        .await
        .unwrap();
    assert_eq!(without.suggest(&request).await.unwrap(), []);
    without.stop().await;
    let with = Rewards::embedded(config(&database), Settings::default())
        .await
        .unwrap();
    with.grade(
        "run",
        0,
        None,
        &[],
        &[
            submission("a", 0, "2", &task),
            submission("a", 1, "3", &task),
        ],
    )
    .await
    .unwrap();
    let mut visits: Vec<_> = with
        .suggest(&request)
        .await
        .unwrap()
        .into_iter()
        .map(|prompt| (prompt.prompt_key, prompt.visits))
        .collect();
    visits.sort();
    assert_eq!(visits, [("other".to_owned(), 0), ("sum".to_owned(), 1)]);
    let invalid = SuggestRequest {
        settings: serde_json::Map::from_iter([("strategy".to_owned(), "luck".into())]),
        ..request
    };
    assert!(matches!(
        with.suggest(&invalid).await,
        Err(RewardsError::Rejected(_))
    ));
    with.stop().await;
}

#[tokio::test]
async fn selection_uses_suggestions_once_there_is_history() {
    use crate::data::{Lines, Selection, Strategy};

    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("assay.db").display());
    let prompts = folder.path().join("prompts.jsonl");
    let line =
        |key: &str| format!("{{\"prompt\":\"1+1=\",\"task\":{TASK},\"prompt_key\":\"{key}\"}}\n");
    std::fs::write(&prompts, line("sum") + &line("other")).unwrap();
    let lines = Lines::read(&prompts).unwrap();
    let rewards = Rewards::embedded(config(&database), Settings::default())
        .await
        .unwrap();
    let mut selection =
        Selection::new(&lines, Strategy::Suggest(serde_json::Map::new()), 1, 0).unwrap();

    let first = selection.next(&rewards, "run", 0, 2).await.unwrap();
    assert_eq!(
        (
            first.iter().all(|pick| pick.rollouts.is_none()),
            selection.position()
        ),
        (true, 2)
    );
    let task = raw(TASK);
    rewards
        .grade(
            "run",
            0,
            None,
            &[],
            &[
                submission("a", 0, "2", &task),
                submission("a", 1, "3", &task),
            ],
        )
        .await
        .unwrap();
    let mut second = selection.next(&rewards, "run", 1, 2).await.unwrap();
    second.sort_by_key(|pick| pick.index);
    assert_eq!(
        second
            .iter()
            .map(|pick| (pick.index, pick.rollouts))
            .collect::<Vec<_>>(),
        [(0, Some(8)), (1, Some(8))]
    );
    assert_eq!(selection.position(), 2, "no prompt was drawn uniformly");
    rewards.stop().await;
}

/// Responds to one request on a connection.
async fn respond(mut stream: TcpStream, status: &str, body: &str) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    // The headers, then a body of the announced length.
    loop {
        let read = stream.read(&mut buffer).await.unwrap();
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).to_lowercase();
        let Some((head, sent)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next()?.parse().ok());
        if read == 0 || sent.len() >= length.unwrap_or(0) {
            break;
        }
    }
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: \
         close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn retries_until_the_service_is_available() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let server = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            match count.fetch_add(1, Ordering::SeqCst) {
                // A closed connection, then a proxy without a service, then an overloaded service.
                0 => drop(stream),
                1 => respond(stream, "502 Bad Gateway", "<html>").await,
                2 => {
                    let busy = r#"{"error":{"code":"overloaded","message":"busy","pointer":null}}"#;
                    respond(stream, "429 Too Many Requests", busy).await;
                }
                _ => respond(stream, "200 OK", r#"{"prompts":[]}"#).await,
            }
        }
    });
    let request = SuggestRequest {
        run: "run".to_owned(),
        keys: Vec::new(),
        categories: Default::default(),
        channel: None,
        seed: None,
        settings: serde_json::Map::new(),
    };
    let rewards = Rewards::served(&url, Settings::default()).unwrap();
    assert_eq!(rewards.suggest(&request).await.unwrap(), []);
    assert_eq!(requests.load(Ordering::SeqCst), 4);
    server.abort();
}

#[tokio::test]
async fn fails_after_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let short_timeouts = Settings {
        timeout: Duration::ZERO,
        response_timeout: Duration::from_millis(50),
        ..Settings::default()
    };
    let rewards = Rewards::served(&url, short_timeouts).unwrap();
    // The listener accepts the connection but does not respond.
    let silent = rewards.preflight(&[]).await.unwrap_err();
    assert!(
        matches!(&silent, RewardsError::Unavailable { reason, .. }
            if reason.contains("no response")),
        "{silent}"
    );
    drop(listener);
    let closed = rewards.preflight(&[]).await.unwrap_err();
    assert!(
        matches!(&closed, RewardsError::Unavailable { .. }),
        "{closed}"
    );
    assert!(matches!(
        Rewards::served("nowhere", short_timeouts),
        Err(RewardsError::Address(_))
    ));
}
