//! The storage report over HTTP and on its page; prunes; and grades whose texts are not stored.

use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, item, service, service_with};
use crate::http::pages::text;

async fn grade(service: &Service, run: &str, items: u32) -> Value {
    let mut request = batch((0..items).map(|n| item(&(n % 2).to_string(), "\\boxed{1}")));
    request["run"] = json!(run);
    request["step"] = json!(1);
    let reply = service.grade(&request).await;
    assert_eq!(reply.status, 200);
    reply.json()
}

/// The storage once the prune with this number has ended.
async fn pruned(service: &Service, number: &Value) -> Value {
    loop {
        let storage = service.get("/v1/storage").await.json();
        let prune = &storage["prune"];
        if prune["number"] == *number && prune["state"] != "running" {
            return storage;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn prunes_a_run_and_shows_what_is_left() {
    let service = service().await;
    let old = grade(&service, "old <run>", 6).await;
    grade(&service, "best", 4).await;
    let request = |dry_run: bool| json!({ "runs": ["old <run>"], "dry_run": dry_run });
    let dry = service
        .post("/v1/storage/prune", &request(true))
        .await
        .json();
    assert_eq!(
        (&dry["estimate"]["grades"], &dry["prune"]),
        (&json!(6), &Value::Null)
    );
    let page = text(&service, "/ui/storage").await;
    assert!(
        page.contains("old &#60;run&#62;") && page.contains("best"),
        "{page}"
    );
    assert!(page.contains("No limits are configured"));

    let reply = service
        .post("/v1/storage/prune", &request(false))
        .await
        .json();
    let storage = pruned(&service, &reply["prune"]["number"]).await;
    assert_eq!(storage["prune"]["state"], "done");
    assert_eq!(storage["prune"]["deleted_grades"], 6);
    assert_eq!(
        (&storage["grades"], &storage["batches"]),
        (&json!(4), &json!(1))
    );
    assert_eq!(storage["holdings"][0]["run"], "best");
    assert_eq!(storage["holdings"][0]["caller"], "local");
    let id = old["results"][0]["grade"].as_str().unwrap();
    assert_eq!(service.get(&format!("/v1/grades/{id}")).await.status, 404);
    let page = text(&service, "/ui/storage").await;
    assert!(
        !page.contains("old &#60;run&#62;") && page.contains("Last prune"),
        "{page}"
    );
}

#[tokio::test]
async fn rejects_prunes_without_a_condition_and_with_unknown_fields() {
    let service = service().await;
    for (body, pointer) in [
        (json!({}), Some("")),
        (json!({ "bodies_only": true }), Some("")),
        (json!({ "run": "r" }), None),
    ] {
        let refused = service.post("/v1/storage/prune", &body).await.refusal();
        assert_eq!(
            (refused.0, refused.1.as_str()),
            (422, "invalid_field"),
            "{body}"
        );
        if let Some(pointer) = pointer {
            assert_eq!(refused.2.as_deref().unwrap_or(""), pointer, "{body}");
        }
    }
}

/// With a misspelled name, the run that was meant would be deleted.
#[tokio::test]
async fn rejects_prunes_that_keep_a_run_which_does_not_exist() {
    let service = service().await;
    grade(&service, "best", 2).await;
    for dry_run in [true, false] {
        let body = json!({ "keep_runs": ["best", "bset"], "dry_run": dry_run });
        let got = service.post("/v1/storage/prune", &body).await;
        let (status, code, pointer) = got.refusal();
        assert_eq!((status, code.as_str()), (422, "invalid_field"));
        assert_eq!(pointer.as_deref(), Some("/keep_runs"));
        assert!(String::from_utf8_lossy(&got.bytes).contains("`bset`"));
    }
    let storage = service.get("/v1/storage").await.json();
    assert_eq!(
        (&storage["prune"], &storage["holdings"][0]["grades"]),
        (&json!(null), &json!(2))
    );
}

#[tokio::test]
async fn shows_that_bodies_were_omitted_or_deleted() {
    let omitting = service_with(|config| {
        config.retention.bodies = assay_node::config::StoredBodies::None;
    })
    .await;
    let reply = grade(&omitting, "r", 1).await;
    let id = reply["results"][0]["grade"].as_str().unwrap();
    let detail = omitting.get(&format!("/v1/grades/{id}")).await.json();
    assert_eq!(
        (
            &detail["bodies"],
            &detail["bodies_omitted"],
            &detail["completion"]
        ),
        (&json!("omitted"), &json!(true), &Value::Null)
    );
    let replay = omitting
        .post(&format!("/v1/grades/{id}/replay"), &json!({}))
        .await;
    assert_eq!(replay.refusal().0, 404);
    let page = text(&omitting, &format!("/ui/grades/{id}")).await;
    assert!(page.contains("not stored, because of the setting `retention.bodies`"));

    let service = service().await;
    let reply = grade(&service, "r", 1).await;
    let id = reply["results"][0]["grade"].as_str().unwrap();
    let bodies = json!({ "runs": ["r"], "bodies_only": true });
    let prune = service.post("/v1/storage/prune", &bodies).await.json();
    pruned(&service, &prune["prune"]["number"]).await;
    let detail = service.get(&format!("/v1/grades/{id}")).await.json();
    assert_eq!(
        (&detail["bodies"], &detail["verdict"]),
        (&json!("deleted"), &json!("wrong_answer"))
    );
    let page = text(&service, &format!("/ui/grades/{id}")).await;
    assert!(page.contains("deleted from the record"));
}
