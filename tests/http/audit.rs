//! The audit log over HTTP: its export, and the acts that it records.

use std::path::Path;

use assay_access::Key;
use assay_node::config::KeyRequirement;
use assay_record::access::{AuditEntry, Quotas, Role};
use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::http::access::{Keyed, create_key, send_with_key};
use crate::http::fixtures::{Got, batch, item, service_with};

async fn lines(keyed: &Keyed, key: &Key, query: &str) -> Got {
    let request = Request::get(format!("/v1/audit{query}"))
        .header(header::AUTHORIZATION, format!("Bearer {}", key.reveal()))
        .header(header::ACCEPT, "application/x-ndjson");
    keyed
        .service
        .send(request.body(Body::empty()).unwrap())
        .await
}

fn entries(got: &Got) -> Vec<Value> {
    assert_eq!(got.status, StatusCode::OK, "{:?}", got.bytes);
    assert_eq!(got.headers[header::CONTENT_TYPE], "application/x-ndjson");
    let text = std::str::from_utf8(&got.bytes).unwrap();
    assert!(text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn exports_all_entries_as_lines() {
    let keyed = Keyed::start().await;
    let store = keyed.service.node.gate().store().unwrap();
    for n in 0..1_100 {
        let entry = AuditEntry {
            time_us: n,
            caller: "test".to_owned(),
            role: None,
            action: "test.act".to_owned(),
            target: format!("line\n{n}"),
            details: json!({ "n": n }),
        };
        store.append_audit(&entry).await.unwrap();
    }
    let operator = keyed.key(Role::Operator);
    let exported = entries(&lines(&keyed, operator, "").await);
    assert_eq!(exported.len(), 1_100 + Role::ALL.len());
    let (mut paged, mut query) = (Vec::new(), "?limit=1000".to_owned());
    loop {
        let page = keyed
            .get(operator, &format!("/v1/audit{query}"))
            .await
            .json();
        paged.extend(page["entries"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_i64() else {
            break;
        };
        query = format!("?limit=1000&before={next}");
    }
    assert_eq!(exported, paged);
    assert_eq!(exported[0]["target"], "line\n1099");

    let before = exported[1_000]["no"].as_i64().unwrap();
    let older = entries(&lines(&keyed, operator, &format!("?before={before}")).await);
    assert_eq!(older, exported[1_001..]);
    let three = entries(&lines(&keyed, operator, &format!("?limit=3&before={before}")).await);
    assert_eq!(three, exported[1_001..1_004]);
    let none = lines(&keyed, operator, "?before=0").await;
    assert_eq!((none.status, none.bytes.len()), (StatusCode::OK, 0));

    for (query, pointer) in [
        ("?limit=0", "limit"),
        ("?limit=1001", "limit"),
        ("?n=1", "n"),
    ] {
        let got = lines(&keyed, operator, query).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST, "{query}");
        let message = got.json()["error"]["message"].to_string();
        assert!(message.contains(pointer), "{query}: {message}");
    }
    let got = lines(&keyed, keyed.key(Role::Trainer), "").await;
    assert_eq!(got.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn acts_over_http_are_in_the_audit_log() {
    let models = tempfile::tempdir().unwrap();
    let reward_models = assay_tests::models::write(Path::new(models.path())).unwrap();
    let service = service_with(|config| {
        config.access.keys = KeyRequirement::Required;
        config.reward_models = reward_models;
    })
    .await;
    let admin = create_key(&service, "root", Role::Admin, Quotas::default()).await;
    let send = async |method: Method, path: &str, body: &Value| {
        let got = send_with_key(&service, &admin, method, path, body).await;
        assert_eq!(got.status, StatusCode::OK, "{path}: {:?}", got.bytes);
        got.json()
    };
    let graded = batch([item("1", "\\boxed{1}"), item("1", "\\boxed{2}")]);
    let graded = send(Method::POST, "/v1/grade", &graded).await;
    let grade = graded["results"][0]["grade"].as_str().unwrap();

    let adjudicate = format!("/v1/grades/{grade}/adjudicate");
    send(Method::POST, &adjudicate, &json!({ "pass": true })).await;
    let calibration = json!({
        "channel": "math/default", "version": 1, "method": "labels",
        "right": 10.0, "right_rejected": 1.0, "wrong": 10.0, "wrong_passed": 0.0,
    });
    send(Method::POST, "/v1/channels/calibrations", &calibration).await;
    let model = "/v1/reward-models/scalar";
    send(Method::PUT, model, &json!({ "source": "scalar" })).await;
    send(Method::DELETE, model, &Value::Null).await;
    let prune = json!({ "caller": "root", "bodies_only": true });
    send(Method::POST, "/v1/storage/prune", &prune).await;
    let dry = json!({ "caller": "root", "dry_run": true });
    send(Method::POST, "/v1/storage/prune", &dry).await;
    service.get("/v1/runs").await;
    service.node.gate().write_refusals().await.unwrap();

    let log = send(Method::GET, "/v1/audit", &Value::Null).await;
    let entries = log["entries"].as_array().unwrap().iter().rev();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or("-").to_owned();
    let acts: Vec<[String; 4]> = entries
        .map(|entry| ["action", "caller", "role", "target"].map(|field| text(entry, field)))
        .collect();
    assert_eq!(
        acts,
        [
            ["key.create", "test", "-", "root"],
            ["grade.adjudicate", "root", "admin", grade],
            ["channel.calibrate", "root", "admin", "math/default@1"],
            ["model.load", "root", "admin", "scalar"],
            ["model.unload", "root", "admin", "scalar"],
            ["record.prune", "root", "admin", "record"],
            ["caller.refused", "unknown", "-", ""],
        ]
    );
}
