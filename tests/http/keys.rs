//! What keys allow and for how long: quotas, revocation, rotation, keys in paths, and nodes that
//! get their first key.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_access::NewKey;
use assay_core::SystemClock;
use assay_node::config::KeyRequirement;
use assay_record::access::{Quotas, Role};
use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use tracing_subscriber::fmt::format::FmtSpan;

use crate::http::access::{Keyed, one};
use crate::http::fixtures::service_with;

#[tokio::test]
async fn rejects_requests_over_a_quota_and_says_when_to_retry() {
    let keyed = Keyed::start().await;
    let quotas = Quotas {
        items_per_minute: Some(2),
        ..Quotas::default()
    };
    let key = keyed.create("small", Role::Trainer, quotas).await;
    for _ in 0..2 {
        assert_eq!(keyed.grade(&key, &one("1")).await.status, StatusCode::OK);
    }
    let got = keyed.grade(&key, &one("1")).await;
    assert_eq!(got.refusal(), (429, "quota_exceeded".to_owned(), None));
    let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("`items_per_minute` of the key (2)"),
        "{message}"
    );
    let after: u64 = got.headers[header::RETRY_AFTER]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=30).contains(&after), "{after}");
    assert!(message.contains(&format!("{after} s")), "{message}");

    // Clients of emulated servers retry a 503, and SandboxFusion's a 504.
    let program = json!({ "code": "print(1)", "language": "python" });
    let path = "/compat/sandboxfusion/run_code";
    let got = keyed.send(&key, Method::POST, path, &program).await;
    assert_eq!(got.status, StatusCode::GATEWAY_TIMEOUT, "{:?}", got.bytes);
    assert!(String::from_utf8_lossy(&got.bytes).contains("`items_per_minute` of the key (2)"));
    assert_ne!(got.headers[header::RETRY_AFTER], "1");
    let verify = json!({
        "response": { "output": [{ "type": "message", "role": "assistant", "content":
            [{ "type": "output_text", "text": "\\boxed{1}" }] }] },
        "task": { "type": "math", "answer": "1" },
    });
    let path = "/compat/nemo-gym/verify";
    let got = keyed.send(&key, Method::POST, path, &verify).await;
    assert_eq!(
        got.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "{:?}",
        got.bytes
    );
    assert!(got.headers.contains_key(header::RETRY_AFTER));

    let stored = Quotas {
        bytes_stored: Some(10),
        ..Quotas::default()
    };
    let key = keyed.create("full", Role::Trainer, stored).await;
    let got = keyed.grade(&key, &one("1")).await;
    assert_eq!(got.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(String::from_utf8_lossy(&got.bytes).contains("`bytes_stored` of the key (10)"));
}

#[tokio::test]
async fn revoked_and_rotated_keys_are_refused_after_a_refresh() {
    let keyed = Keyed::start().await;
    let gate = keyed.service.node.gate();
    let (store, clock) = (gate.store().unwrap().as_ref(), SystemClock::new());
    let key = keyed.create("old", Role::Trainer, Quotas::default()).await;
    assert_eq!(keyed.get(&key, "/v1/runs").await.status, StatusCode::OK);
    let until_us = i64::MAX;
    let new = assay_access::rotate(store, &clock, "test", "old", until_us)
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    for valid in [&key, &new] {
        assert_eq!(keyed.get(valid, "/v1/runs").await.status, StatusCode::OK);
    }
    let newest = assay_access::rotate(store, &clock, "test", "old", 0)
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    for refused in [&key, &new] {
        assert_eq!(
            keyed.get(refused, "/v1/runs").await.status,
            StatusCode::UNAUTHORIZED
        );
    }
    assert_eq!(keyed.get(&newest, "/v1/runs").await.status, StatusCode::OK);
    assay_access::revoke(store, &clock, "test", "old")
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    assert_eq!(
        keyed.get(&newest, "/v1/runs").await.status,
        StatusCode::UNAUTHORIZED
    );
    assert!(
        assay_access::rotate(store, &clock, "test", "old", 0)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_running_node_notices_changes_of_keys() {
    let keyed = Keyed::start().await;
    let gate = keyed.service.node.gate().clone();
    let running = tokio::spawn({
        let gate = gate.clone();
        async move { gate.run().await }
    });
    let key = keyed.key(Role::Trainer);
    assert_eq!(keyed.get(key, "/v1/runs").await.status, StatusCode::OK);
    let store = gate.store().unwrap().as_ref();
    assay_access::revoke(store, &SystemClock::new(), "test", "trainer")
        .await
        .unwrap();
    let refused = async {
        while keyed.get(key, "/v1/runs").await.status == StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), refused)
        .await
        .unwrap();
    running.abort();
}

#[tokio::test]
async fn keys_in_paths_work_and_stay_out_of_replies() {
    let keyed = Keyed::start().await;
    let key = keyed.key(Role::Trainer).reveal();
    let post = |path: &str| {
        Request::post(path)
            .body(Body::from(one("1").to_string()))
            .unwrap()
    };
    let got = keyed
        .service
        .send(post(&format!("/k/{key}/v1/grade")))
        .await;
    assert_eq!(got.status, StatusCode::OK);
    assert_eq!(got.headers[header::REFERRER_POLICY], "no-referrer");

    // One key only, whichever of them is valid.
    let both = Request::get(format!("/k/{key}/v1/runs"))
        .header(header::AUTHORIZATION, format!("Bearer {key}"));
    let got = keyed.service.send(both.body(Body::empty()).unwrap()).await;
    assert_eq!(got.status, StatusCode::UNAUTHORIZED);
    assert!(String::from_utf8_lossy(&got.bytes).contains("several keys"));

    let secret = &key[key.len() - 20..];
    for path in [
        format!("/k/{key}"),
        format!("/k/{key}/"),
        format!("/k/{key}/ui"),
        format!("/k/{key}//v1/runs"),
        format!("/k/{key}/../v1/runs"),
        format!("/k/{key}/v1/../../ui"),
        format!("/k/{key}%2fv1/runs"),
        format!("/k/{key}/%76%31/runs"),
        format!("/k/{key}/k/{key}/v1/runs"),
        format!("/k//v1/runs/{key}"),
        format!("//k/{key}/v1/runs"),
        format!("/K/{key}/v1/runs"),
        format!("/./k/{key}/v1/runs"),
        format!("/v1/runs/../k/{key}/v1/runs"),
        format!("/k/{key}/v1/nothing"),
        format!("/{key}"),
        format!("/v1/{key}?key={key}"),
        format!("/ui/{key}"),
        format!("/k/{key}x/v1/runs"),
    ] {
        let got = keyed.service.get(&path).await;
        assert!(
            [401, 404].contains(&got.status.as_u16()),
            "{path}: {}",
            got.status
        );
        let text = String::from_utf8_lossy(&got.bytes);
        assert!(!text.contains(secret), "{path}: {text}");
        let headers = format!("{:?}", got.headers);
        assert!(!headers.contains(secret), "{path}: {headers}");
    }
    // With a valid key in a header, messages about the path do not repeat it.
    for path in [format!("/v1/{key}"), format!("/ui/{key}")] {
        let got = keyed.get(keyed.key(Role::Admin), &path).await;
        assert_eq!(got.status, StatusCode::NOT_FOUND, "{path}");
        assert!(
            !String::from_utf8_lossy(&got.bytes).contains(secret),
            "{path}"
        );
    }
}

/// Collects everything that is traced.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn keys_are_in_no_log_line_or_span() {
    let keyed = Keyed::start().await;
    let key = keyed.key(Role::Trainer).reveal().to_owned();
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    // Other tests may have hit the spans before, when nobody was interested in them.
    tracing::callsite::rebuild_interest_cache();
    for path in [
        format!("/k/{key}/v1/runs"),
        format!("/k/{key}/v1/nothing"),
        format!("/k/{key}"),
        format!("//k/{key}/v1/runs"),
        format!("/v1/{key}"),
        format!("/k/{key}/v1/grades?run={key}"),
    ] {
        keyed.service.get(&path).await;
        keyed.get(keyed.key(Role::Admin), &path).await;
    }
    drop(guard);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    // The spans of the requests are there.
    assert!(text.contains("/v1/runs"), "{text}");
    assert!(!text.contains(&key[key.len() - 20..]), "{text}");
}

#[tokio::test]
async fn emulated_servers_refuse_in_their_own_format() {
    let keyed = Keyed::start().await;
    let got = keyed
        .service
        .post("/compat/vllm/classify", &json!({}))
        .await;
    assert_eq!(got.status, StatusCode::UNAUTHORIZED);
    assert!(got.headers.contains_key(header::WWW_AUTHENTICATE));
    assert_eq!(got.json()["error"]["code"], 401);
    let got = keyed
        .service
        .post("/compat/piston/api/v2/execute", &json!({}))
        .await;
    assert_eq!(got.status, StatusCode::UNAUTHORIZED);
    assert!(got.json()["message"].is_string(), "{:?}", got.bytes);
}

#[tokio::test]
async fn acts_and_refusals_are_in_the_audit_log() {
    let keyed = Keyed::start().await;
    let operator = keyed.key(Role::Operator);
    let trainer = keyed.key(Role::Trainer);
    let reply = keyed.grade(trainer, &one("1")).await.json();
    let grade = reply["results"][0]["grade"].as_str().unwrap();
    let path = format!("/v1/grades/{grade}/adjudicate");
    let got = keyed
        .send(operator, Method::POST, &path, &json!({ "pass": false }))
        .await;
    assert_eq!(got.status, StatusCode::OK, "{:?}", got.bytes);
    for _ in 0..3 {
        keyed.service.get("/v1/runs").await;
    }
    keyed.service.node.gate().write_refusals().await.unwrap();
    let log = keyed.get(operator, "/v1/audit?limit=2").await.json();
    let [refused, adjudicated] = log["entries"].as_array().unwrap().as_slice() else {
        panic!("{log}")
    };
    assert_eq!(
        (&refused["action"], &refused["details"]),
        (&json!("caller.refused"), &json!({ "missing": 3 }))
    );
    assert_eq!(
        [
            &adjudicated["action"],
            &adjudicated["caller"],
            &adjudicated["role"],
            &adjudicated["target"]
        ],
        ["grade.adjudicate", "operator", "operator", grade]
    );
    let next = log["next"].as_i64().unwrap();
    let older = keyed
        .get(operator, &format!("/v1/audit?before={next}"))
        .await
        .json();
    assert_eq!(older["entries"].as_array().unwrap().len(), Role::ALL.len());
    assert_eq!(older["entries"][0]["action"], "key.create");
    assert_eq!(older["next"], Value::Null);
    let text = log.to_string() + &older.to_string();
    assert!(!text.contains(trainer.reveal()));
}

#[tokio::test]
async fn a_node_on_loopback_without_keys_is_open_until_it_has_one() {
    let service = service_with(|_| {}).await;
    assert_eq!(service.get("/v1/runs").await.status, StatusCode::OK);
    let header = Request::get("/v1/runs").header(header::AUTHORIZATION, "Bearer EMPTY");
    assert_eq!(
        service
            .send(header.body(Body::empty()).unwrap())
            .await
            .status,
        StatusCode::OK
    );
    assert_eq!(
        service.get("/k/anything/v1/runs").await.status,
        StatusCode::OK
    );
    let gate = service.node.gate();
    let new = NewKey {
        name: "first".to_owned(),
        role: Role::Trainer,
        quotas: Quotas::default(),
        expires_us: None,
    };
    let store = gate.store().unwrap().as_ref();
    assay_access::create(store, &SystemClock::new(), "test", new)
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    assert_eq!(
        service.get("/v1/runs").await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(service.get("/healthz").await.status, StatusCode::OK);
    assay_access::revoke(store, &SystemClock::new(), "test", "first")
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    assert_eq!(
        service.get("/v1/runs").await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn creates_one_key_for_a_node_that_needs_keys_and_has_none() {
    let service = service_with(|config| config.access.keys = KeyRequirement::Required).await;
    let key = service.node.first_key().await.unwrap().unwrap();
    assert!(service.node.first_key().await.unwrap().is_none());
    let request =
        Request::get("/v1/audit").header(header::AUTHORIZATION, format!("Bearer {}", key.reveal()));
    let got = service.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(got.json()["entries"][0]["target"], "admin");
}

#[tokio::test]
async fn takes_the_first_key_of_another_node() {
    let service = service_with(|config| config.access.keys = KeyRequirement::Required).await;
    let gate = service.node.gate();
    let store = gate.store().unwrap();
    let new = NewKey {
        name: "admin".to_owned(),
        role: Role::Admin,
        quotas: Quotas::default(),
        expires_us: None,
    };
    let key = assay_access::create(store.as_ref(), &SystemClock::new(), "other node", new)
        .await
        .unwrap();
    assert!(gate.lacks_keys(), "the node does not know the key yet");
    assert!(service.node.first_key().await.unwrap().is_none());
    assert_eq!(
        gate.authenticate(Some(key.reveal())).unwrap().name(),
        "admin"
    );
}
