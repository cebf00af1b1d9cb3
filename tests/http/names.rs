//! The limits on channels and runs over HTTP, prunes of channels, and the bounded lists of
//! channels.

use assay_access::Key;
use assay_node::config::KeyRequirement;
use assay_record::access::{Quotas, Role};
use http::Method;
use serde_json::{Value, json};

use crate::http::access::{create_key, send_with_key};
use crate::http::fixtures::{Got, Service, batch, item, service, service_with};
use crate::http::pages::text;

async fn limited_node() -> Service {
    service_with(|config| {
        config.access.keys = KeyRequirement::Required;
        config.channels.per_caller = 2;
        config.engine.runs_per_caller = 1;
    })
    .await
}

async fn trainer(service: &Service, name: &str) -> Key {
    create_key(service, name, Role::Trainer, Quotas::default()).await
}

fn of_channels<'a>(channels: impl IntoIterator<Item = &'a str>) -> Value {
    batch(channels.into_iter().map(|channel| {
        let mut item = item("1", "\\boxed{1}");
        item["channel"] = json!(channel);
        item
    }))
}

async fn grade(service: &Service, key: &Key, batch: &Value) -> Got {
    send_with_key(service, key, Method::POST, "/v1/grade", batch).await
}

fn message(got: &Got) -> String {
    got.json()["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn limits_the_channels_and_runs_of_each_caller() {
    let service = limited_node().await;
    let (alice, bob) = (
        trainer(&service, "alice").await,
        trainer(&service, "bob").await,
    );
    let used = of_channels(["a", "b", "default"]);
    assert_eq!(grade(&service, &alice, &used).await.status, 200);
    let refused = grade(&service, &alice, &of_channels(["b", "c"])).await;
    let expected = (
        422,
        "invalid_field".to_owned(),
        Some("/items/1/channel".to_owned()),
    );
    assert_eq!(refused.refusal(), expected);
    assert!(message(&refused).contains("`channels.per_caller`"));
    for (key, channels) in [(&bob, ["a", "c"]), (&alice, ["c", "a"])] {
        assert_eq!(
            grade(&service, key, &of_channels(channels)).await.status,
            200
        );
    }

    let run = |name: &str| {
        let mut batch = of_channels(["a"]);
        batch["run"] = json!(name);
        batch
    };
    for (key, name, status) in [
        (&alice, "r", 200),
        (&alice, "r", 200),
        (&alice, "s", 422),
        (&bob, "s", 200),
    ] {
        assert_eq!(grade(&service, key, &run(name)).await.status, status);
    }
    let refused = grade(&service, &alice, &run("s")).await;
    assert_eq!(refused.refusal().2.as_deref(), Some("/run"));
    assert!(message(&refused).contains("`engine.runs_per_caller`"));
}

/// Starts a prune and waits until it has ended.
async fn prune(service: &Service, admin: &Key, request: &Value) -> Value {
    let path = "/v1/storage/prune";
    let started = send_with_key(service, admin, Method::POST, path, request).await;
    assert_eq!(started.status, 200, "{:?}", started.bytes);
    let number = started.json()["prune"]["number"].clone();
    loop {
        let storage = send_with_key(service, admin, Method::GET, "/v1/storage", &Value::Null).await;
        let prune = storage.json()["prune"].clone();
        if prune["number"] == number && prune["state"] != "running" {
            return prune;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_prune_of_channels_frees_them_and_is_in_the_audit_log() {
    let service = limited_node().await;
    let (alice, admin) = (
        trainer(&service, "alice").await,
        create_key(&service, "root", Role::Admin, Quotas::default()).await,
    );
    let used = of_channels(["tmp-1", "tmp-2"]);
    assert_eq!(grade(&service, &alice, &used).await.status, 200);
    let more = of_channels(["kept"]);
    assert_eq!(grade(&service, &alice, &more).await.status, 422);

    let request = json!({ "caller": "alice", "channel_prefix": "math/tmp-" });
    let mut dry = request.clone();
    dry["dry_run"] = json!(true);
    let path = "/v1/storage/prune";
    let estimate = send_with_key(&service, &admin, Method::POST, path, &dry).await;
    let estimate = estimate.json()["estimate"].clone();
    assert_eq!(
        (&estimate["channels"], &estimate["grades"]),
        (&json!(2), &json!(0))
    );
    let done = prune(&service, &admin, &request).await;
    assert_eq!(
        (&done["state"], &done["deleted_channels"], &done["caller"]),
        (&json!("done"), &json!(2), &json!("alice"))
    );
    assert_eq!(grade(&service, &alice, &more).await.status, 200);
    let channels = send_with_key(&service, &admin, Method::GET, "/v1/channels", &Value::Null).await;
    let channels = channels.json();
    let names: Vec<&Value> = channels["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|report| &report["channel"])
        .collect();
    assert_eq!(names, ["math/kept"]);

    let log = send_with_key(&service, &admin, Method::GET, "/v1/audit", &Value::Null).await;
    let log = log.json();
    let entry = &log["entries"][0];
    assert_eq!(
        (&entry["action"], &entry["details"]["channel_prefix"]),
        (&json!("record.prune"), &json!("math/tmp-"))
    );
}

#[tokio::test]
async fn rejects_prunes_of_channels_and_batches_at_once() {
    let service = service().await;
    for (body, pointer) in [
        (json!({ "channels": ["math/a"], "runs": ["r"] }), "/runs"),
        (
            json!({ "channel_prefix": "math/", "before_us": 1 }),
            "/before_us",
        ),
        (
            json!({ "channels_unused_since_us": 1, "bodies_only": true }),
            "/bodies_only",
        ),
        (json!({ "channel_prefix": "" }), "/channel_prefix"),
    ] {
        let refused = service.post("/v1/storage/prune", &body).await.refusal();
        assert_eq!(
            (refused.0, refused.2.as_deref()),
            (422, Some(pointer)),
            "{body}"
        );
    }
}

#[tokio::test]
async fn lists_channels_in_pages_and_not_in_the_metrics() {
    let service = service().await;
    let names: Vec<String> = (0..230).map(|n| format!("family-{n:03}")).collect();
    for names in names.chunks(115) {
        let batch = of_channels(names.iter().map(String::as_str));
        assert_eq!(service.grade(&batch).await.status, 200);
    }
    let (mut listed, mut path) = (Vec::new(), "/v1/channels?limit=100".to_owned());
    for length in [100, 100, 30] {
        let page = service.get(&path).await.json();
        let channels = page["channels"].as_array().unwrap().clone();
        assert_eq!(channels.len(), length);
        listed.extend(channels.into_iter().map(|report| report["channel"].clone()));
        if let Some(next) = page["next"].as_str() {
            path = format!("/v1/channels?limit=100&after={next}");
        } else {
            assert_eq!(listed.len(), names.len());
        }
    }
    assert_eq!(listed[229], "math/family-229");
    let whole = service.get("/v1/channels").await.json();
    assert_eq!(
        (whole["channels"].as_array().map(Vec::len), &whole["next"]),
        (Some(230), &Value::Null)
    );
    let refused = service.get("/v1/channels?after=math").await.refusal();
    assert_eq!((refused.0, refused.1.as_str()), (400, "invalid_parameter"));

    let first = text(&service, "/ui/channels").await;
    assert!(first.contains("family-099") && !first.contains("family-100"));
    assert!(first.contains("/ui/channels?page=2"), "{first}");
    let last = text(&service, "/ui/channels?page=3").await;
    assert!(last.contains("family-229") && !last.contains("page=4"));

    let metrics = service.get("/metrics").await;
    assert!(!String::from_utf8_lossy(&metrics.bytes).contains("family-"));
}
