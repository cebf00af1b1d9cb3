//! The quota of stored bytes.

use std::path::Path;

use assay_access::Key;
use assay_core::Hash;
use assay_node::config::KeyRequirement;
use assay_record::access::{Quotas, Role};
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::http::access::{create_key, send_with_key};
use crate::http::fixtures::{Got, Service, batch, item, service_with};

const LIMIT: u64 = 100_000;

async fn keyed_node(database: &Path) -> Service {
    service_with(|config| {
        config.access.keys = KeyRequirement::Required;
        config.store.database = format!("sqlite://{}", database.display()).into();
    })
    .await
}

/// A node with a new record.
async fn new_keyed_node() -> Service {
    service_with(|config| config.access.keys = KeyRequirement::Required).await
}

/// A batch of 16 completions of 1 kB that cannot be compressed to less than half.
fn unlike_others(run: &str, n: u32) -> Value {
    let completion = |item: u32| {
        let texts = (0..16).map(|part| Hash::of(format!("{n} {item} {part}").as_bytes()));
        texts.map(|hash| hash.to_string()).collect::<String>() + " \\boxed{1}"
    };
    let mut request = batch((0..16).map(|n| item("1", &completion(n))));
    request["run"] = json!(run);
    request
}

async fn grade(service: &Service, key: &Key, batch: &Value) -> Got {
    send_with_key(service, key, Method::POST, "/v1/grade", batch).await
}

async fn storage(service: &Service, operator: &Key) -> Value {
    send_with_key(service, operator, Method::GET, "/v1/storage", &Value::Null)
        .await
        .json()
}

/// What the storage reports of a caller, once everything is applied.
async fn held(service: &Service, operator: &Key, caller: &str, batches: u64) -> u64 {
    loop {
        let storage = storage(service, operator).await;
        if storage["batches"] != batches {
            tokio::task::yield_now().await;
            continue;
        }
        let holdings = storage["holdings"].as_array().unwrap();
        let bytes = |holding: &Value| {
            holding["grade_bytes"].as_u64().unwrap() + holding["body_bytes"].as_u64().unwrap()
        };
        let of_caller = holdings.iter().filter(|held| held["caller"] == caller);
        return of_caller.map(bytes).sum();
    }
}

/// What the list of keys shows.
async fn listed(service: &Service, name: &str) -> u64 {
    let keys = service.node.gate().store().unwrap().keys().await.unwrap();
    let key = keys.into_iter().find(|key| key.name == name);
    key.unwrap().bytes_stored
}

fn assert_full(got: &Got) {
    assert_eq!(got.refusal(), (429, "quota_exceeded".to_owned(), None));
    let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("`bytes_stored` of the key (100000)") && message.contains("delete grades"),
        "{message}"
    );
    assert!(got.headers.contains_key(header::RETRY_AFTER));
}

#[tokio::test]
async fn bytes_stored_are_those_of_the_record_and_free_when_grades_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("assay.db");
    let service = keyed_node(&database).await;
    let quotas = Quotas {
        bytes_stored: Some(LIMIT),
        ..Quotas::default()
    };
    let key = create_key(&service, "small", Role::Trainer, quotas).await;
    let admin = create_key(&service, "root", Role::Admin, Quotas::default()).await;

    // Without reading the record in between, requests count with their sizes.
    let mut batches = 0;
    let full = loop {
        let got = grade(&service, &key, &unlike_others("r", batches)).await;
        if got.status != StatusCode::OK {
            break got;
        }
        batches += 1;
    };
    assert_full(&full);
    assert!(batches > 1);
    let first = held(&service, &admin, "small", batches.into()).await;
    assert!(first < LIMIT * 4 / 5, "{first}");
    // The record holds less, because bodies are compressed, so more fits.
    loop {
        held(&service, &admin, "small", batches.into()).await;
        service.node.gate().refresh().await.unwrap();
        let got = grade(&service, &key, &unlike_others("r", batches)).await;
        if got.status != StatusCode::OK {
            assert_full(&got);
            break;
        }
        batches += 1;
    }
    let full = held(&service, &admin, "small", batches.into()).await;
    assert!(first < full && full <= LIMIT, "{first} {full}");
    assert_eq!(listed(&service, "small").await, full);
    let other = create_key(&service, "other", Role::Trainer, Quotas::default()).await;
    let got = grade(&service, &other, &unlike_others("r", 0)).await;
    assert_eq!(got.status, StatusCode::OK);

    // A restart changes nothing.
    service
        .node
        .engine()
        .shut_down(std::time::Duration::from_secs(30))
        .await;
    drop(service);
    let service = keyed_node(&database).await;
    let next = unlike_others("r", batches);
    assert_full(&grade(&service, &key, &next).await);
    assert_eq!(listed(&service, "small").await, full);

    let run = json!({ "runs": ["small:r"] });
    let path = "/v1/storage/prune";
    let got = send_with_key(&service, &admin, Method::POST, path, &run).await;
    assert_eq!(got.status, StatusCode::OK);
    while storage(&service, &admin).await["prune"]["state"] == "running" {
        tokio::task::yield_now().await;
    }
    assert_eq!(held(&service, &admin, "small", 1).await, 0);
    service.node.gate().refresh().await.unwrap();
    assert_eq!(grade(&service, &key, &next).await.status, StatusCode::OK);
    let again = held(&service, &admin, "small", 2).await;
    assert!(0 < again && again < full / 2, "{again}");
    assert_eq!(listed(&service, "small").await, again);
}

/// A body that two callers sent counts for the first, and for the second once the first is deleted.
#[tokio::test]
async fn a_body_counts_for_one_of_its_callers() {
    let service = new_keyed_node().await;
    let admin = create_key(&service, "root", Role::Admin, Quotas::default()).await;
    let mut expected = 0;
    for name in ["first", "second"] {
        let key = create_key(&service, name, Role::Trainer, Quotas::default()).await;
        let got = grade(&service, &key, &unlike_others("r", 0)).await;
        assert_eq!(got.status, StatusCode::OK);
        expected += 1;
        held(&service, &admin, name, expected).await;
    }
    let (first, second) = (
        listed(&service, "first").await,
        listed(&service, "second").await,
    );
    assert!(first > 2 * second && second > 0, "{first} {second}");
    let prune = json!({ "caller": "first" });
    let got = send_with_key(&service, &admin, Method::POST, "/v1/storage/prune", &prune).await;
    assert_eq!(got.status, StatusCode::OK);
    while storage(&service, &admin).await["prune"]["state"] == "running" {
        tokio::task::yield_now().await;
    }
    assert_eq!(listed(&service, "first").await, 0);
    let moved = listed(&service, "second").await;
    assert!(moved > 2 * second && moved <= first + second, "{moved}");
}

/// Policies and reports of dataset checks are never deleted. They count for who sent them.
#[tokio::test]
async fn policies_and_reports_count_as_well() {
    let service = new_keyed_node().await;
    let quotas = Quotas {
        bytes_stored: Some(LIMIT),
        ..Quotas::default()
    };
    let key = create_key(&service, "checker", Role::Checker, quotas).await;
    let report = |at: u64| {
        let dataset = |row: u64| {
            let name = Hash::of_parts(&[&at.to_le_bytes(), &row.to_le_bytes()]).to_string();
            json!({ "dataset": name, "revision": null, "rows": 1, "checked": 1, "tasks": {},
                    "mutants": {} })
        };
        json!({
            "version": "0.1.0", "errors": 0, "warnings": 0,
            "datasets": (0..200).map(dataset).collect::<Vec<_>>(),
            "counts": {}, "known": 0, "ignored": 0, "unlisted": 0, "failed": 0,
            "first_failure": null, "findings": [],
        })
    };
    let mut sent = 0;
    let full = loop {
        let got = send_with_key(&service, &key, Method::POST, "/v1/checks", &report(sent)).await;
        if got.status != StatusCode::OK {
            break got;
        }
        sent += 1;
        service.node.gate().refresh().await.unwrap();
    };
    assert_full(&full);
    assert!(sent > 2, "{sent}");
    let limit = LIMIT / 2;
    while listed(&service, "checker").await < limit {
        tokio::task::yield_now().await;
    }
    let policy = |answer: &str| {
        json!({ "policy": { "appeals": [{ "judge": { "type": "math", "answer": answer },
                                          "negatives": 1.0 }] },
                "items": [{ "completion": "2", "task": { "type": "math", "answer": "1" } }] })
    };
    let trainer = create_key(&service, "trainer", Role::Trainer, quotas).await;
    let answer: String = (0..1000_u64)
        .map(|at| Hash::of_parts(&[&at.to_le_bytes()]).to_string())
        .collect();
    let got = grade(&service, &trainer, &policy(&answer)).await;
    assert_eq!(got.status, StatusCode::OK);
    while listed(&service, "trainer").await < 30_000 {
        tokio::task::yield_now().await;
    }
    let admin = create_key(&service, "root", Role::Admin, Quotas::default()).await;
    let permanent = storage(&service, &admin).await["permanent_bytes"].as_u64();
    assert!(
        permanent.is_some_and(|bytes| bytes > limit + 30_000),
        "{permanent:?}"
    );
}

#[tokio::test]
async fn a_client_that_disconnects_is_charged() {
    let service = new_keyed_node().await;
    let program = "while True: pass";
    let task = json!({ "type": "code", "language": "python", "tests": [{ "stdin": "", "stdout": "" }],
                       "limits": { "seconds": 60 } });
    let completion = format!("```python\n{program}\n```");
    let graded = json!({ "items": [{ "completion": completion, "task": task }] });
    let executed = json!({ "code": program, "language": "python", "run_timeout": 60 });
    let quotas = Quotas {
        cpu_seconds_per_minute: Some(1),
        ..Quotas::default()
    };
    for (path, body, status) in [
        ("/v1/grade", graded, StatusCode::TOO_MANY_REQUESTS),
        (
            "/compat/sandboxfusion/run_code",
            executed,
            StatusCode::GATEWAY_TIMEOUT,
        ),
    ] {
        let name = if path.starts_with("/v1") {
            "grading"
        } else {
            "running"
        };
        let key = create_key(&service, name, Role::Trainer, quotas).await;
        let wait = std::time::Duration::from_millis(1_500);
        // The time is charged once the work was stopped, shortly after the client disconnected.
        let mut tries = 0;
        let got = loop {
            let request = send_with_key(&service, &key, Method::POST, path, &body);
            if let Ok(got) = tokio::time::timeout(wait, request).await {
                break got;
            }
            tries += 1;
        };
        assert!((1..5).contains(&tries), "{path}: {tries}");
        assert_eq!(got.status, status, "{path}");
        let text = String::from_utf8_lossy(&got.bytes);
        assert!(text.contains("`cpu_seconds_per_minute`"), "{text}");
    }
}

/// A trainer that lost a reply can get it, however little of its quotas is left.
#[tokio::test]
async fn a_repeated_request_is_not_charged() {
    let service = new_keyed_node().await;
    let quotas = Quotas {
        items_per_minute: Some(2),
        ..Quotas::default()
    };
    for (name, accept) in [
        ("whole", "application/json"),
        ("streamed", "application/x-ndjson"),
    ] {
        let key = create_key(&service, name, Role::Trainer, quotas).await;
        let authorization = format!("Bearer {}", key.reveal());
        let send = async |request: &str, answer: &str| {
            let items = [item(answer, "1"), item(answer, "2")];
            let headers = [
                ("authorization", authorization.as_str()),
                ("accept", accept),
                ("idempotency-key", request),
            ];
            service.grade_with(batch(items).to_string(), &headers).await
        };
        let first = send("first", "1").await;
        assert_eq!(first.status, StatusCode::OK);
        let exceeded = (429, "quota_exceeded".to_owned(), None);
        for _ in 0..3 {
            let other = send("second", "2").await;
            assert_eq!(other.refusal(), exceeded);
            assert!(other.headers.contains_key(header::RETRY_AFTER));
            assert_eq!(send("first", "1").await.bytes, first.bytes);
        }
    }
}

#[tokio::test]
async fn all_work_needs_cpu_seconds() {
    let service = new_keyed_node().await;
    let quotas = Quotas {
        cpu_seconds_per_minute: Some(60),
        ..Quotas::default()
    };
    let key = create_key(&service, "busy", Role::Operator, quotas).await;
    let request = json!({ "run": "r", "items": [
        { "completion": "1", "prompt_key": "p", "task": { "type": "math", "answer": "1" } }
    ] });
    let graded = grade(&service, &key, &request).await.json();
    let id = graded["results"][0]["grade"].as_str().unwrap().to_owned();
    let (replay, page) = (
        format!("/v1/grades/{id}/replay"),
        format!("/ui/grades/{id}/replay"),
    );
    let policy = json!({ "advantage_estimator": "grpo" });
    let prompts = json!({ "run": "r", "count": 1, "seed": 1 });
    let works = [
        ("/v1/grade", &request),
        (replay.as_str(), &Value::Null),
        (page.as_str(), &Value::Null),
        ("/v1/policies/check", &policy),
        ("/v1/prompts/suggest", &prompts),
    ];
    for (path, body) in works {
        let got = send_with_key(&service, &key, Method::POST, path, body).await;
        let text = String::from_utf8_lossy(&got.bytes);
        assert_eq!(got.status, StatusCode::OK, "{path}: {text}");
    }
    let gate = service.node.gate();
    let caller = gate.authenticate(Some(key.reveal())).unwrap();
    let charge = caller.charge(0, 0, gate.clock()).unwrap().unwrap();
    charge.spend(std::time::Duration::from_secs(120));
    for (path, body) in works {
        let got = send_with_key(&service, &key, Method::POST, path, body).await;
        let text = String::from_utf8_lossy(&got.bytes);
        assert_eq!(got.status, StatusCode::TOO_MANY_REQUESTS, "{path}: {text}");
        assert!(text.contains("cpu_seconds_per_minute"), "{path}: {text}");
    }
}
