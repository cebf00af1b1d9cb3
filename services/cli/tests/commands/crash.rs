//! `kill -9` under load, ten times: every grade reported as recorded is in the record, and no item
//! is recorded twice.
//!
//! Clients post batches with idempotency keys, whole and streamed. The server is killed after a
//! number of replies, with other batches in flight, and restarted on the same record. Every
//! unanswered batch is posted again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fixtures::serve;

const ROUNDS: usize = 10;
const CLIENTS: usize = 4;
const ITEMS: usize = 64;

/// One batch of a client. Its content follows from its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    key: String,
    streamed: bool,
}

impl Job {
    fn body(&self) -> String {
        let items = (0..ITEMS).map(|n| {
            let completion = format!("batch {} item {n}: \\boxed{{{}}}", self.key, n % 3);
            json!({
                "id": format!("{}/{n}", self.key), "completion": completion,
                "task": { "type": "math", "answer": "1" },
            })
        });
        json!({ "run": "crash", "items": items.collect::<Vec<_>>() }).to_string()
    }
}

/// Posts a batch. Returns the grades reported as recorded, as pairs of grade id and item id, and
/// whether the reply was complete.
async fn post(http: &reqwest::Client, base: &str, job: &Job) -> (Vec<(String, String)>, bool) {
    let accept = if job.streamed {
        "application/x-ndjson"
    } else {
        "application/json"
    };
    let request = http
        .post(format!("{base}/v1/grade"))
        .header("content-type", "application/json")
        .header("accept", accept)
        .header("idempotency-key", &job.key)
        .body(job.body());
    let Ok(mut response) = request.send().await else {
        return (Vec::new(), false);
    };
    assert_eq!(response.status().as_u16(), 200);
    let mut body = Vec::new();
    let whole = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    let results: Vec<Value> = if job.streamed {
        let lines = body
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| line.ends_with(b"\n"));
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    } else if whole {
        serde_json::from_slice::<Value>(&body).unwrap()["results"]
            .as_array()
            .unwrap()
            .clone()
    } else {
        Vec::new()
    };
    let complete =
        whole && (!job.streamed || results.last().is_some_and(|line| line["type"] == "end"));
    let recorded = results.iter().filter(|result| result["recorded"] == true);
    let text = |result: &Value, key: &str| result[key].as_str().unwrap().to_owned();
    (
        recorded
            .map(|result| (text(result, "grade"), text(result, "id")))
            .collect(),
        complete,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reported_grades_survive_kills_exactly_once() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let http = reqwest::Client::new();
    let mut reported: BTreeMap<String, String> = BTreeMap::new();
    let mut unanswered: BTreeSet<Job> = BTreeSet::new();
    let mut sent: BTreeSet<Job> = BTreeSet::new();

    for round in 0..ROUNDS {
        let (mut server, base) = serve(folder.path());
        let answered = Arc::new(AtomicUsize::new(0));
        let mut clients = JoinSet::new();
        let mut again = unanswered.iter().cloned().collect::<Vec<_>>();
        for client in 0..CLIENTS {
            let repeated: Vec<Job> =
                again.split_off(again.len() - again.len() / (CLIENTS - client));
            let (http, base, answered) = (http.clone(), base.clone(), Arc::clone(&answered));
            clients.spawn(async move {
                let fresh = (0..).map(|n| Job {
                    key: format!("{round}-{client}-{n}"),
                    streamed: (client + n) % 2 == 1,
                });
                let mut log = Vec::new();
                for job in repeated.into_iter().chain(fresh) {
                    let (grades, complete) = post(&http, &base, &job).await;
                    log.push((job, grades, complete));
                    if !complete {
                        break;
                    }
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                log
            });
        }
        // Kill after some replies, a different number each round.
        while answered.load(Ordering::Relaxed) < 8 + 5 * round {
            tokio::task::yield_now().await;
        }
        server.kill();
        for log in clients.join_all().await {
            for (job, grades, complete) in log {
                reported.extend(grades);
                if complete {
                    unanswered.remove(&job);
                } else {
                    unanswered.insert(job.clone());
                }
                sent.insert(job);
            }
        }
    }

    let (_server, base) = serve(folder.path());
    let lost_before_reposting = missing(&reported, &rows(&http, &base).await);
    assert!(
        lost_before_reposting.is_empty(),
        "reported as recorded and lost: {lost_before_reposting:?}"
    );
    let reposted = unanswered.len();
    for job in &unanswered {
        let (grades, complete) = post(&http, &base, job).await;
        assert!(complete);
        reported.extend(grades);
    }
    let rows = rows(&http, &base).await;
    assert!(missing(&reported, &rows).is_empty());
    let items: BTreeSet<_> = rows.values().collect();
    assert_eq!(items.len(), rows.len(), "an item is recorded twice");
    assert_eq!(
        rows.len(),
        sent.len() * ITEMS,
        "every sent item is recorded"
    );
    println!(
        "{ROUNDS} kills, {} batches sent, {reposted} posted again at the end, {} grades reported \
         as recorded: 0 lost, 0 duplicated",
        sent.len(),
        reported.len()
    );
}

fn missing(reported: &BTreeMap<String, String>, rows: &BTreeMap<String, String>) -> Vec<String> {
    reported
        .iter()
        .filter(|(grade, item)| rows.get(*grade) != Some(*item))
        .map(|(grade, _)| grade.clone())
        .collect()
}

/// All recorded grades of the run, as item ids by grade id.
async fn rows(http: &reqwest::Client, base: &str) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    let mut next = Some(String::new());
    while let Some(before) = next {
        let url = format!("{base}/v1/grades?run=crash&limit=1000{before}");
        let page: Value =
            serde_json::from_slice(&http.get(url).send().await.unwrap().bytes().await.unwrap())
                .unwrap();
        for grade in page["grades"].as_array().unwrap() {
            let text = |key: &str| grade[key].as_str().unwrap().to_owned();
            assert!(
                rows.insert(text("grade"), text("id")).is_none(),
                "a page repeats a row"
            );
        }
        next = page["next"].as_str().map(|id| format!("&before={id}"));
    }
    rows
}
