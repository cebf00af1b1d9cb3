//! What one caller uses of a node does not take the node from others, and is charged.

use std::sync::Arc;

use assay_access::Key;
use assay_record::access::{Quotas, Role};
use axum::body::Body;
use base64::Engine as _;
use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::http::access::Keyed;
use crate::http::fixtures::{Got, batch, item, service, service_with};

fn message(got: &Got) -> String {
    got.json()["error"]["message"].as_str().unwrap().to_owned()
}

fn request(key: &Key, method: Method, path: &str, body: impl Into<Body>) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {}", key.reveal()))
        .header(header::CONTENT_TYPE, "application/json")
        .body(body.into())
        .unwrap()
}

/// A trainer with one second of time in a minute.
async fn hurried(keyed: &Keyed, name: &str) -> Key {
    let quotas = Quotas {
        cpu_seconds_per_minute: Some(1),
        ..Quotas::default()
    };
    keyed.create(name, Role::Trainer, quotas).await
}

/// Uses up the time of a key.
fn exhaust(keyed: &Keyed, key: &Key) {
    let caller = keyed.service.node.gate().authenticate(Some(key.reveal()));
    caller.unwrap().spend(std::time::Duration::from_secs(100));
}

#[tokio::test]
async fn a_caller_cannot_take_all_memory_and_items_from_others() {
    let keyed = Keyed::start().await;
    let bob = keyed.create("bob", Role::Trainer, Quotas::default()).await;
    let alice: Arc<str> = "trainer".into();
    let admission = keyed.service.node.engine().admission();
    let one = batch([item("1", "1")]);

    let mut body = admission.memory(&alice);
    body.grow(admission.max_request_bytes()).unwrap();
    let got = keyed.grade(keyed.key(Role::Trainer), &one).await;
    assert_eq!(got.refusal(), (429, "overloaded".into(), None));
    assert!(got.headers.contains_key(header::RETRY_AFTER));
    let expected = "your requests in progress use your share of `engine.body_bytes_in_flight`";
    assert!(message(&got).starts_with(expected), "{}", message(&got));
    assert_eq!(keyed.grade(&bob, &one).await.status, StatusCode::OK);
    drop(body);

    let items = admission.admit(&alice, 65_536).unwrap();
    let got = keyed.grade(keyed.key(Role::Trainer), &one).await;
    assert!(
        message(&got).contains("`engine.items_in_flight`"),
        "{}",
        message(&got)
    );
    assert_eq!(keyed.grade(&bob, &one).await.status, StatusCode::OK);
    let metrics = keyed.get(keyed.key(Role::Operator), "/metrics").await;
    let metrics = String::from_utf8(metrics.bytes.to_vec()).unwrap();
    let line = r#"assay_caller_items_in_flight{caller="trainer"} 65536"#;
    assert!(metrics.lines().any(|of| of == line), "{metrics}");
    drop(items);
}

#[tokio::test]
async fn the_overview_shows_what_callers_use() {
    let service = service().await;
    let admission = service.node.engine().admission();
    let _items = admission.admit(&"alice".into(), 65_536).unwrap();
    let mut memory = admission.memory(&"bob".into());
    memory.grow(3 << 20).unwrap();
    let page = service.get("/ui").await;
    let page = String::from_utf8(page.bytes.to_vec()).unwrap();
    for cells in [["alice", "65,536", "0"], ["bob", "0", "3"]] {
        let [name, items, mebibytes] = cells;
        let row = format!(
            "<td><bdi>{name}</bdi></td><td class=\"number\">{items}</td>\
             <td class=\"number\">{mebibytes}</td>"
        );
        assert!(page.contains(&row), "{row}: {page}");
    }
}

#[tokio::test]
async fn a_caller_without_time_is_rejected_before_its_body_is_read() {
    let keyed = Keyed::start().await;
    let key = hurried(&keyed, "hurried").await;
    let graded = |idempotency: &'static str| {
        let mut request = request(
            &key,
            Method::POST,
            "/v1/grade",
            batch([item("1", "1")]).to_string(),
        );
        let name = header::HeaderName::from_static("idempotency-key");
        request
            .headers_mut()
            .insert(name, idempotency.parse().unwrap());
        request
    };
    let first = keyed.service.send(graded("k")).await;
    assert_eq!(first.status, StatusCode::OK);
    exhaust(&keyed, &key);
    for path in [
        "/v1/grade",
        "/v1/prompts/suggest",
        "/compat/nemo-gym/aggregate_metrics",
        "/compat/sandboxfusion/run_code",
    ] {
        // Not JSON, and compressed by an unknown encoding: neither is looked at.
        let mut request = request(&key, Method::POST, path, "{".repeat(100_000));
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_ENCODING, "br".parse().unwrap());
        let got = keyed.service.send(request).await;
        let text = String::from_utf8_lossy(&got.bytes).into_owned();
        assert!(text.contains("cpu_seconds_per_minute"), "{path}: {text}");
        assert!(got.headers.contains_key(header::RETRY_AFTER), "{path}");
    }
    // Its reply is recorded.
    let again = keyed.service.send(graded("k")).await;
    assert_eq!((again.status, again.bytes), (StatusCode::OK, first.bytes));
    let other = keyed.service.send(graded("other")).await;
    assert_eq!(other.refusal().1, "quota_exceeded");
}

#[tokio::test]
async fn decoding_checking_and_preparing_are_charged() {
    let keyed = Keyed::start().await;
    let charged = async |key: &Key| {
        let name = keyed.service.node.gate().authenticate(Some(key.reveal()));
        let name = name.unwrap().name().to_owned();
        let metrics = keyed.get(keyed.key(Role::Operator), "/metrics").await;
        let metrics = String::from_utf8(metrics.bytes.to_vec()).unwrap();
        let line = format!("assay_key_grade_microseconds_total{{key=\"{name}\"}} ");
        let values = metrics.lines().filter_map(|of| of.strip_prefix(&line));
        values
            .map(|value| value.parse::<u64>().unwrap())
            .sum::<u64>()
    };
    // Slow to compile. A task that was checked before is not checked again.
    let slow = |first: usize| {
        let patterns = (first..first + 16).map(|n| format!("\\w{{10}}x{n}"));
        json!({ "completion": "x",
            "task": { "type": "text", "match": "pattern", "answer": patterns.collect::<Vec<_>>() } })
    };
    let invalid = json!({ "completion": "x",
        "task": { "type": "text", "match": "pattern", "answer": "(" } });
    let rejecting = keyed
        .create("rejecting", Role::Trainer, Quotas::default())
        .await;
    let got = keyed.grade(&rejecting, &batch([slow(10), invalid])).await;
    assert_eq!(got.refusal().2.as_deref(), Some("/items/1/task/answer"));
    let checking = charged(&rejecting).await;
    assert!(checking > 1_000, "{checking} µs");
    let preparing = keyed
        .create("preparing", Role::Trainer, Quotas::default())
        .await;
    assert_eq!(
        keyed.grade(&preparing, &batch([slow(30)])).await.status,
        StatusCode::OK
    );
    let prepared = charged(&preparing).await;
    assert!(prepared > checking * 5 / 4, "{prepared} and {checking} µs");
    // 60,000 objects.
    let decoding = keyed
        .create("decoding", Role::Trainer, Quotas::default())
        .await;
    let responses = vec![json!({ "reward": 1.0 }); 60_000];
    let body = json!({ "verify_responses": responses });
    let path = "/compat/nemo-gym/aggregate_metrics";
    let got = keyed.send(&decoding, Method::POST, path, &body).await;
    assert_eq!(got.status, StatusCode::OK);
    assert!(charged(&decoding).await > 1_000);
}

#[tokio::test]
async fn checks_of_an_item_count_as_items_and_are_bounded() {
    let keyed = Keyed::start().await;
    let quotas = Quotas {
        items_per_minute: Some(11),
        ..Quotas::default()
    };
    let key = keyed.create("few", Role::Trainer, quotas).await;
    let with_checks = |count: usize| {
        let mut item = item("1", "1");
        let checks = (0..count).map(|n| (format!("c{n}"), item["task"].clone()));
        item["checks"] = Value::Object(checks.collect());
        batch([item])
    };
    let got = keyed.grade(&key, &with_checks(257)).await;
    assert_eq!(
        got.refusal(),
        (422, "invalid_field".into(), Some("/items/0/checks".into()))
    );
    // A request that is rejected counts as one item.
    assert_eq!(
        keyed.grade(&key, &with_checks(9)).await.status,
        StatusCode::OK
    );
    let got = keyed.grade(&key, &with_checks(0)).await;
    assert_eq!(got.refusal().1, "quota_exceeded");
}

#[tokio::test]
async fn replies_count_until_they_are_read() {
    let keyed = Keyed::start().await;
    let key = keyed.key(Role::Trainer);
    let tests: Vec<Value> = (0..4)
        .map(|n| json!({ "stdin": "a".repeat(100_000) + &n.to_string(), "stdout": "1" }))
        .collect();
    let large = json!({ "completion": "no program",
        "task": { "type": "code", "language": "python", "tests": tests } });
    let got = keyed.grade(key, &batch([large])).await;
    let path = format!(
        "/v1/grades/{}",
        got.json()["results"][0]["grade"].as_str().unwrap()
    );
    let admission = keyed.service.node.engine().admission();
    let bytes = || {
        let usage = admission.usage();
        usage.iter().map(|used| used.bytes).sum::<usize>()
    };
    // The worker that graded the item may be about to drop its share of the batch.
    while bytes() > 0 {
        tokio::task::yield_now().await;
    }
    let read = || request(key, Method::GET, &path, Body::empty());
    let router = assay_api::router(keyed.service.node.api().unwrap());
    let unread = router.clone().oneshot(read()).await.unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    let held = bytes();
    assert!(held > 400_000, "{held}");
    let mut others = admission.memory(&"trainer".into());
    others.count(admission.max_request_bytes());
    let refused = router.oneshot(read()).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    drop((others, unread));
    assert_eq!(bytes(), 0);
}

/// The private tests of a row of LiveCodeBench that unpack to so many blanks.
fn packed_blanks(count: usize) -> String {
    use std::io::Write as _;
    let text = format!(
        "[{}{}]",
        " ".repeat(count),
        r#"{"input":"1","output":"1","testtype":"stdin"}"#
    );
    let mut pickle = b"\x80\x04\x8d".to_vec();
    pickle.extend((text.len() as u64).to_le_bytes());
    pickle.extend(text.as_bytes());
    pickle.extend(b"\x94.");
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&pickle).unwrap();
    base64::engine::general_purpose::STANDARD.encode(packed.finish().unwrap())
}

#[tokio::test]
async fn what_templates_unpack_is_limited_for_a_request() {
    let service = service_with(|config| config.server.parsed_bytes = 1 << 20).await;
    let row = |salt: usize| {
        json!({ "completion": "x", "task": { "template": "livecodebench", "row": {
            "public_test_cases": "[]", "private_test_cases": packed_blanks(1 << 20),
            "metadata": "{}", "salt": salt } } })
    };
    let got = service.grade(&batch([row(0), row(1)])).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.json());
    let got = service.grade(&batch((0..8).map(row))).await;
    let (status, code, pointer) = got.refusal();
    assert_eq!((status, code.as_str()), (422, "invalid_task"));
    assert!(pointer.unwrap().ends_with("/task/row"));
    assert!(
        message(&got).contains("produce more than 4194304 bytes"),
        "{}",
        message(&got)
    );
}
