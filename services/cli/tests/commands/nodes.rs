//! Nodes that share a record on PostgreSQL.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixtures::{Running, command, listening_with};
use crate::postgres::{Server, new_database, server};

/// A node with a spool of its own, whose replies wait for the database.
fn node(folder: &Path, name: &str, database: &str) -> (Running, String) {
    let mut serve = command(folder);
    serve
        .env("ASSAY_STORE_SPOOL", folder.join(name))
        .env("ASSAY_STORE_ACKNOWLEDGE", "database");
    listening_with(folder, serve, database)
}

fn client() -> reqwest::Client {
    // Both tests install it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

fn batch(items: usize) -> String {
    let items: Vec<Value> = (0..items)
        .map(|n| {
            json!({ "id": format!("item-{n}"), "completion": "4", "task": { "type": "math", "answer": "4" } })
        })
        .collect();
    json!({ "run": "r", "items": items }).to_string()
}

struct Got {
    status: u16,
    retry_after: Option<String>,
    text: String,
}

async fn post(base: &str, key: Option<&str>, body: &str) -> Got {
    let mut request = client()
        .post(format!("{base}/v1/grade"))
        .body(body.to_owned());
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let response = request.send().await.unwrap();
    let header = response.headers().get("retry-after");
    Got {
        status: response.status().as_u16(),
        retry_after: header.map(|value| value.to_str().unwrap().to_owned()),
        text: response.text().await.unwrap(),
    }
}

/// Repeats a request until it succeeds.
async fn repeat(base: &str, key: &str, body: &str) -> String {
    for _ in 0..600 {
        let got = post(base, Some(key), body).await;
        if got.status == 200 {
            return got.text;
        }
        assert_eq!(got.status, 503, "{}", got.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the node does not recover");
}

/// The grades of the database, whose sums are also compared.
fn grades(server: &Server, database: &str) -> String {
    let sums = "select count(*), (select sum(grades) from batches), \
                (select grades from runs where name = 'r') from grades";
    server.query(database, sums)
}

/// The writers' lock of the database, for 13 seconds, which is longer than a reply waits.
const LOCK: &str = "select pg_advisory_xact_lock(4711046251); select pg_sleep(13)";

#[tokio::test(flavor = "multi_thread")]
async fn replies_wait_for_the_commit_and_repeated_requests_are_recorded_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start();
    let url = new_database(&server, "acknowledged");
    let (_one, one) = node(folder.path(), "one", &url);
    let (_other, other) = node(folder.path(), "other", &url);
    let first = post(&one, Some("first"), &batch(3)).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(grades(&server, "acknowledged"), "3|3|3");

    // The database does not commit in time. The grades are in the spool and are applied later.
    let locked = std::thread::scope(|scope| {
        let locking = scope.spawn(|| server.query("acknowledged", LOCK));
        let second = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                while server.query(
                    "acknowledged",
                    "select count(*) from pg_locks where locktype = 'advisory' and granted",
                ) == "0"
                {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                post(&one, Some("second"), &batch(4)).await
            })
        });
        locking.join().unwrap();
        second
    });
    assert_eq!(locked.status, 503, "{}", locked.text);
    assert_eq!(locked.retry_after.as_deref(), Some("1"));
    assert!(locked.text.contains("in the spool"), "{}", locked.text);
    let second = repeat(&one, "second", &batch(4)).await;
    assert_eq!(repeat(&other, "second", &batch(4)).await, second);
    assert_eq!(grades(&server, "acknowledged"), "7|7|7");

    // Without the server, nothing is graded under a key.
    server.stop();
    let third = post(&one, Some("third"), &batch(5)).await;
    assert_eq!(
        (third.status, third.retry_after.as_deref()),
        (503, Some("1")),
        "{}",
        third.text
    );
    server.run();
    let third = repeat(&one, "third", &batch(5)).await;
    assert_eq!(repeat(&other, "third", &batch(5)).await, third);
    assert_eq!(repeat(&other, "first", &batch(3)).await, first.text);
    assert_eq!(grades(&server, "acknowledged"), "12|12|12");
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_of_two_nodes_draw_different_grades() {
    let folder = tempfile::tempdir().unwrap();
    let server = server();
    let url = new_database(&server, "drawn");
    let (_one, one) = node(folder.path(), "one", &url);
    let (_other, other) = node(folder.path(), "other", &url);
    assert_eq!(post(&one, None, &batch(24)).await.status, 200);
    let draw = async |base: String| {
        let mut drawn = Vec::new();
        for _ in 0..12 {
            let next = client().post(format!("{base}/v1/adjudications/next"));
            let text = next.send().await.unwrap().text().await.unwrap();
            let reply: Value = serde_json::from_str(&text).unwrap();
            let grade = reply["grade"]["grade"].as_str();
            drawn.push(grade.unwrap_or_else(|| panic!("{text}")).to_owned());
        }
        drawn
    };
    let (of_one, of_other) = tokio::join!(draw(one), draw(other));
    let distinct: BTreeSet<String> = of_one.into_iter().chain(of_other).collect();
    assert_eq!(distinct.len(), 24);
    assert_eq!(server.query("drawn", "select count(*) from draws"), "24");
}
