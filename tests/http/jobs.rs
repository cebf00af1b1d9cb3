//! Jobs over HTTP: submitted, graded in the background, and read while they are.

use std::time::Duration;

use assay_node::config::KeyRequirement;
use assay_record::access::{Quotas, Role};
use axum::body::Body;
use http::{Method, Request};
use serde_json::{Value, json};

use crate::http::access::{create_key, send_with_key};
use crate::http::fixtures::{Got, Service, item, service, service_with};

/// Items of groups of four, of which every third passes.
pub(super) fn items(count: usize) -> Vec<Value> {
    let items = (0..count).map(|n| {
        let mut item = item("1", &format!("so it is \\boxed{{{}}}", n % 3));
        item["id"] = json!(n.to_string());
        item["group"] = json!((n / 4).to_string());
        item
    });
    items.collect()
}

fn lines(items: &[Value]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

async fn submit_with(
    service: &Service,
    query: &str,
    lines: String,
    headers: &[(&str, &str)],
) -> Got {
    let mut request = Request::post(format!("/v1/jobs{query}"));
    for (name, value) in [("content-type", "application/x-ndjson")]
        .iter()
        .chain(headers)
    {
        request = request.header(*name, *value);
    }
    service.send(request.body(Body::from(lines)).unwrap()).await
}

/// Submits a job and returns its id.
async fn submit(service: &Service, query: &str, lines: String) -> String {
    let got = submit_with(service, query, lines, &[]).await;
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()["job"].as_str().unwrap().to_owned()
}

async fn job(service: &Service, id: &str) -> Value {
    service.get(&format!("/v1/jobs/{id}")).await.json()
}

/// Waits until a job has ended.
pub(super) async fn ended(service: &Service, id: &str) -> Value {
    loop {
        let job = job(service, id).await;
        if ["done", "cancelled"].contains(&job["state"].as_str().unwrap()) {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The results of a job without the last line, and the last line.
pub(super) async fn results(service: &Service, id: &str, query: &str) -> (Vec<Value>, Value) {
    let got = service.get(&format!("/v1/jobs/{id}/results{query}")).await;
    assert_eq!(got.headers["content-type"], "application/x-ndjson");
    let text = got.text();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let page = lines.pop().unwrap();
    assert_eq!(page["type"], "page");
    (lines, page)
}

pub(super) fn texts<'v>(values: &'v [Value], key: &str) -> Vec<&'v str> {
    let texts = values
        .iter()
        .map(|value| value[key].as_str().unwrap_or("-"));
    texts.collect()
}

#[tokio::test]
async fn a_job_has_the_results_of_a_batch_in_the_order_of_its_lines() {
    let service = service().await;
    service.node.jobs().start().await;
    let items = items(900);
    let batch = service
        .grade(&json!({ "run": "batch", "items": items }))
        .await
        .json();
    let mut sent = items.clone();
    sent.insert(3, json!({ "completion": "no task" }));
    sent.push(json!({ "id": "bad", "completion": "4", "task": { "type": "math", "anser": "4" } }));
    let id = submit(&service, "?run=job&step=3", lines(&sent)).await;
    let job = ended(&service, &id).await;
    assert_eq!(
        (
            &job["items"],
            &job["finished"],
            &job["graded"],
            &job["passed"],
            &job["invalid"]
        ),
        (
            &json!(902),
            &json!(902),
            &json!(900),
            &json!(300),
            &json!(2)
        )
    );
    assert_eq!(job["shards"]["done"], 2);
    assert_eq!((&job["run"], &job["step"]), (&json!("job"), &json!(3)));
    assert!(job["items_per_second"].as_f64().unwrap() > 0.0);

    let (mut results, page) = results(&service, &id, "").await;
    assert_eq!(
        (&page["next"], &page["state"]),
        (&Value::Null, &json!("done"))
    );
    let invalid = [results.remove(3), results.pop().unwrap()];
    assert_eq!(texts(&invalid, "outcome"), ["ungradable"; 2]);
    let message = |result: &Value| result["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message(&invalid[0]).starts_with("line 4: "),
        "{}",
        invalid[0]
    );
    assert!(
        message(&invalid[1]).starts_with("line 902: `/task"),
        "{}",
        invalid[1]
    );
    assert_eq!(invalid[1]["id"], "bad");
    let graded = batch["results"].as_array().unwrap();
    for key in ["id", "group", "outcome", "verdict"] {
        assert_eq!(texts(&results, key), texts(graded, key), "{key}");
    }
    for (result, graded) in results.iter().zip(graded) {
        assert_eq!(result["advantage"], graded["advantage"]);
        assert_eq!(result["recorded"], true);
    }

    let recorded = service
        .get("/v1/grades?run=job&step=3&limit=1000")
        .await
        .json();
    assert_eq!(recorded["grades"].as_array().unwrap().len(), 900);
    assert_eq!(recorded["next"], Value::Null);
}

#[tokio::test]
async fn results_are_read_in_parts() {
    let service = service().await;
    service.node.jobs().start().await;
    let id = submit(&service, "", lines(&items(1_200))).await;
    ended(&service, &id).await;
    let (mut all, mut after, mut parts) = (Vec::new(), json!(0), 0);
    while !after.is_null() {
        let (part, page) = results(&service, &id, &format!("?after={after}&limit=10")).await;
        assert!(part.len() < 516, "a shard ends between two groups");
        all.extend(part);
        after = page["next"].clone();
        parts += 1;
    }
    assert!(parts >= 3, "{parts}");
    let ids: Vec<String> = (0..1_200).map(|n| n.to_string()).collect();
    assert_eq!(texts(&all, "id"), ids);
}

#[tokio::test]
async fn a_job_waits_for_a_node_and_can_be_cancelled() {
    let service = service().await;
    let first = submit(&service, "", lines(&items(300))).await;
    let second = submit(&service, "", lines(&items(4))).await;
    let waiting = job(&service, &first).await;
    assert_eq!(
        (&waiting["state"], &waiting["finished"]),
        (&json!("waiting"), &json!(0))
    );
    let (none, page) = results(&service, &first, "").await;
    assert_eq!((none.len(), &page["next"]), (0, &json!(0)));
    let delete = Request::delete(format!("/v1/jobs/{first}"));
    let cancelled = service.send(delete.body(Body::empty()).unwrap()).await;
    assert_eq!(cancelled.json()["state"], "cancelled");

    service.node.jobs().start().await;
    let done = ended(&service, &second).await;
    assert_eq!(
        (&done["state"], &done["graded"]),
        (&json!("done"), &json!(4))
    );
    let cancelled = job(&service, &first).await;
    assert_eq!(
        (&cancelled["state"], &cancelled["finished"]),
        (&json!("cancelled"), &json!(0))
    );
    let (none, page) = results(&service, &first, "").await;
    assert_eq!((none.len(), &page["next"]), (0, &Value::Null));
    let delete = Request::delete(format!("/v1/jobs/{second}"));
    let unchanged = service.send(delete.body(Body::empty()).unwrap()).await;
    assert_eq!(unchanged.json()["state"], "done", "it has ended");
    let list = service.get("/v1/jobs?limit=1").await.json();
    assert_eq!(
        (&list["jobs"][0]["job"], &list["next"]),
        (&json!(second), &json!(second))
    );
    let rest = service
        .get(&format!("/v1/jobs?before={second}"))
        .await
        .json();
    assert_eq!(
        (&rest["jobs"][0]["job"], &rest["next"]),
        (&json!(first), &Value::Null)
    );
}

#[tokio::test]
async fn rejects_what_is_no_job() {
    let service = service().await;
    let valid = lines(&items(1));
    for (query, body, expected) in [
        ("", "", (422, "empty_batch")),
        ("", "question,answer\n1,2\n", (400, "malformed_json")),
        ("", "{\"completion\":\"4\"}\n", (422, "invalid_field")),
        ("?policy=none", &valid, (422, "unknown_policy")),
        ("?run=", &valid, (400, "invalid_parameter")),
        ("?run=..", &valid, (400, "invalid_parameter")),
        ("?kind=other", &valid, (400, "invalid_parameter")),
    ] {
        let got = submit_with(&service, query, body.to_owned(), &[]).await;
        let (status, code, _) = got.refusal();
        assert_eq!(
            (status, code.as_str()),
            expected,
            "{query} {body}: {}",
            got.text()
        );
    }
    for path in ["", "/results"] {
        let unknown = format!("/v1/jobs/00000000000000000000000000{path}");
        assert_eq!(service.get(&unknown).await.status, 404, "{path}");
    }
    let jobs = service.get("/v1/jobs").await.json();
    assert_eq!(jobs, json!({ "jobs": [], "next": null }));
}

#[tokio::test]
async fn a_repeated_request_returns_the_same_job() {
    let service = service().await;
    let key = [("idempotency-key", "k")];
    let send = async |query: &str, count: usize| {
        submit_with(&service, query, lines(&items(count)), &key).await
    };
    let first = send("?run=r", 3).await.json();
    let again = send("?run=r", 3).await.json();
    assert_eq!(again["job"], first["job"]);
    for (query, count) in [("?run=r", 4), ("?run=other", 3)] {
        let (status, code, _) = send(query, count).await.refusal();
        assert_eq!((status, code.as_str()), (422, "idempotency_mismatch"));
    }
    let jobs = service.get("/v1/jobs").await.json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn limits_the_open_jobs_of_a_caller() {
    let service = service_with(|config| {
        config.jobs.per_caller = 1;
        config.jobs.bytes_per_caller = 5_000;
    })
    .await;
    let large = submit_with(&service, "", lines(&items(100)), &[]).await;
    let (status, code, _) = large.refusal();
    assert_eq!((status, code.as_str()), (429, "quota_exceeded"));
    let id = loop {
        // The rejected job is deleted in the background.
        let got = submit_with(&service, "", lines(&items(2)), &[]).await;
        if got.status == 200 {
            break got.json()["job"].as_str().unwrap().to_owned();
        }
        assert_eq!(got.refusal().1, "quota_exceeded");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let second = submit_with(&service, "", lines(&items(2)), &[]).await;
    assert!(
        second.text().contains("jobs.per_caller"),
        "{}",
        second.text()
    );
    assert!(second.headers.contains_key("retry-after"));
    service.node.jobs().start().await;
    ended(&service, &id).await;
    submit(&service, "", lines(&items(2))).await;
}

#[tokio::test]
async fn callers_see_their_own_jobs_and_lose_them_with_their_keys() {
    let service = service_with(|config| config.access.keys = KeyRequirement::Required).await;
    let alice = create_key(&service, "alice", Role::Trainer, Quotas::default()).await;
    let bob = create_key(&service, "bob", Role::Trainer, Quotas::default()).await;
    let operator = create_key(&service, "olga", Role::Operator, Quotas::default()).await;
    let get =
        async |key, path: &str| send_with_key(&service, key, Method::GET, path, &Value::Null).await;
    let item = &items(1)[0];
    let sent = send_with_key(&service, &alice, Method::POST, "/v1/jobs?run=r", item).await;
    let id = sent.json()["job"].as_str().unwrap().to_owned();
    assert_eq!(sent.json()["run"], "r");
    let path = format!("/v1/jobs/{id}");
    assert_eq!(get(&alice, &path).await.json()["run"], "r");
    assert_eq!(get(&operator, &path).await.json()["run"], "alice:r");
    assert_eq!(get(&bob, &path).await.status, 404);
    assert_eq!(get(&bob, &format!("{path}/results")).await.status, 404);
    assert_eq!(get(&bob, "/v1/jobs").await.json()["jobs"], json!([]));
    let cancelled = send_with_key(&service, &bob, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(cancelled.status, 404);

    let store = service.node.gate().store().unwrap().clone();
    let clock = service.node.gate().clock().clone();
    assay_access::revoke(store.as_ref(), clock.as_ref(), "test", "alice")
        .await
        .unwrap();
    service.node.gate().refresh().await.unwrap();
    service.node.jobs().start().await;
    let job = loop {
        let job = get(&operator, &path).await.json();
        if job["state"] == "done" {
            break job;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!((&job["set_aside"], &job["graded"]), (&json!(1), &json!(0)));
    let reason = job["failing"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("the key was revoked"), "{reason}");
    let results = get(&operator, &format!("{path}/results")).await.text();
    let result: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&result["outcome"], &result["id"]),
        (&json!("failed"), &json!("0"))
    );
    let message = result["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("line 1: not graded") && message.contains("revoked"),
        "{message}"
    );
}

#[tokio::test]
async fn progress_is_sent_as_events_until_the_end() {
    let service = service().await;
    let id = submit(&service, "", lines(&items(40))).await;
    let events = async || {
        let request = Request::get(format!("/v1/jobs/{id}")).header("accept", "text/event-stream");
        service.send(request.body(Body::empty()).unwrap()).await
    };
    let (got, ()) = tokio::join!(events(), service.node.jobs().start());
    assert_eq!(got.headers["content-type"], "text/event-stream");
    let text = got.text();
    let jobs: Vec<Value> = text
        .split_terminator("\n\n")
        .map(|event| event.strip_prefix("event: job\ndata: ").unwrap())
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let last = jobs.last().unwrap();
    assert_eq!(
        (&last["state"], &last["finished"]),
        (&json!("done"), &json!(40))
    );
    assert_eq!(
        events().await.text().matches("event: ").count(),
        1,
        "it has ended"
    );
}

#[tokio::test]
async fn pages_show_jobs_and_cancel_them() {
    let service = service().await;
    let empty = service.get("/ui/jobs").await;
    assert!(empty.text().contains("There are no jobs yet"));
    let id = submit(&service, "?run=r", lines(&items(300))).await;
    let address = format!("/ui/jobs/{id}");
    let list = service.get("/ui/jobs").await.text();
    assert!(list.contains(&format!("href=\"{address}\"")), "{list}");
    assert!(list.contains("waiting"), "{list}");
    let page = service.get(&address).await.text();
    assert!(page.contains("0 of 300 lines"), "{page}");
    assert!(page.contains("/ui/run?name=r"), "{page}");
    let cancel = Request::post(format!("{address}/cancel"));
    let cancelled = service.send(cancel.body(Body::empty()).unwrap()).await;
    assert_eq!(cancelled.status, 303);
    assert_eq!(cancelled.headers["location"], address.as_str());
    let page = service.get(&address).await.text();
    assert!(
        page.contains("cancelled") && !page.contains("<form method=\"post\""),
        "{page}"
    );
    let unknown = service.get("/ui/jobs/00000000000000000000000000").await;
    assert_eq!(unknown.status, 404);
    assert_eq!(service.get("/ui/jobs/x").await.status, 400);
}
