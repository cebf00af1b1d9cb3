//! Reward models of a whole node: real networks with random weights, used by many clients at once
//! and replaced meanwhile.

use std::sync::Arc;

use assay_node::config::Fetching;
use axum::body::Body;
use axum::routing::get;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, service_with};

/// A node with every kind of model and without a cache.
async fn models() -> (Service, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = assay_tests::models::write(folder.path()).unwrap();
    config.cache_bytes = 0;
    let service = service_with(move |node| node.reward_models = config).await;
    service.node.load_models().await.unwrap();
    (service, folder)
}

async fn post(service: &Service, path: &str, body: &Value) -> Got {
    let request = Request::post(path).header("content-type", "application/json");
    service
        .send(request.body(Body::from(body.to_string())).unwrap())
        .await
}

/// A completion with a different length for each number.
fn item(number: usize) -> Value {
    let completion = format!("{number} ").repeat(1 + number * 7 % 60);
    json!({ "prompt": "Count.", "completion": completion })
}

async fn raw(service: &Service, items: &[Value]) -> Vec<u32> {
    let got = post(
        service,
        "/v1/reward-models/scalar/score",
        &json!({ "items": items }),
    )
    .await;
    let reply = got.json();
    let results = reply["results"]
        .as_array()
        .unwrap_or_else(|| panic!("{reply}"));
    // The number was written from an f32.
    let bits = |result: &Value| (result["raw"].as_f64().unwrap() as f32).to_bits();
    results.iter().map(bits).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn scores_are_bit_identical_under_load_and_during_reloads() {
    const CLIENTS: usize = 1_000;
    let (service, _folder) = models().await;
    let service = Arc::new(service);
    let items: Vec<Value> = (0..CLIENTS).map(item).collect();
    let together = raw(&service, &items).await;
    let shuffled: Vec<usize> = (0..CLIENTS).map(|at| at * 617 % CLIENTS).collect();
    let again = raw(
        &service,
        &shuffled
            .iter()
            .map(|at| items[*at].clone())
            .collect::<Vec<_>>(),
    )
    .await;
    assert!(
        shuffled
            .iter()
            .zip(again)
            .all(|(at, bits)| together[*at] == bits),
        "order changed a bit"
    );

    let clients: Vec<_> = items
        .iter()
        .cloned()
        .map(|item| {
            let service = Arc::clone(&service);
            tokio::spawn(async move { raw(&service, &[item]).await[0] })
        })
        .collect();
    for reload in 0..5 {
        let way = if reload % 2 == 0 { "none" } else { "sigmoid" };
        let body = json!({ "options": { "normalise": way } }).to_string();
        let got = service
            .send(
                Request::put("/v1/reward-models/scalar")
                    .body(Body::from(body))
                    .unwrap(),
            )
            .await;
        assert_eq!(got.status, 200, "{:?}", got.bytes);
    }
    for (at, client) in clients.into_iter().enumerate() {
        assert_eq!(client.await.unwrap(), together[at], "client {at}");
    }
}

#[tokio::test]
async fn grades_a_batch_with_reward_models_and_stores_their_output() {
    let (service, _folder) = models().await;
    let task = |model: &str| json!({ "type": "reward_model", "model": model });
    let steps =
        json!({ "prompt": "6*7?", "completion": "30 and 12.\n\n42", "task": task("steps") });
    let plain = json!({ "prompt": "6*7?", "completion": "42", "task": task("scalar") });
    let reply = service
        .grade(&json!({ "items": [steps, plain] }))
        .await
        .json();
    let results = reply["results"].as_array().unwrap();
    assert_eq!(results[0]["steps"].as_array().unwrap().len(), 2);
    assert_eq!(results[1]["verdict"], "scored");
    let evidence = &results[1]["evidence"];
    assert_eq!(evidence["raw"], results[1]["measures"]["raw_reward"]);
    assert_eq!(evidence["model_version"].as_str().unwrap().len(), 64);

    let unknown =
        json!({ "items": [{ "prompt": "6*7?", "completion": "42", "task": task("nobody") }] });
    let (status, code, pointer) = service.grade(&unknown).await.refusal();
    assert_eq!(
        (status, code.as_str(), pointer.as_deref()),
        (422, "invalid_task", Some("/items/0/task/model"))
    );
}

#[tokio::test]
async fn a_reward_model_judges_appeals() {
    let (service, _folder) = models().await;
    let judge =
        json!({ "type": "reward_model", "model": "verifier", "reference": "{{ task.answer }}" });
    let policy = json!({ "appeals": [{ "judge": judge, "negatives": 1.0 }] });
    let item = json!({ "id": "1", "prompt": "6*7?", "completion": "It is 41.", "task": { "type": "math", "answer": "42" }, "policy": policy });
    let reply = service.grade(&json!({ "items": [item] })).await.json();
    let appeal = &reply["results"][0]["appeal"];
    assert_eq!(appeal["judge"], "reward_model@2", "{reply}");
    assert!(appeal["pass"].is_boolean(), "{appeal}");
}

#[tokio::test]
async fn rejects_an_unexpected_grader_version() {
    let (service, _folder) = models().await;
    let version = service.get("/v1/reward-models/scalar").await.json()["model"]["version"]
        .as_str()
        .unwrap()
        .to_owned();
    let ask = |expected: &str| json!({ "items": [item(1)], "expected_version": expected });
    assert_eq!(
        post(
            &service,
            "/v1/reward-models/scalar/score",
            &ask(&version[..12])
        )
        .await
        .status,
        200
    );
    let got = post(&service, "/v1/reward-models/scalar/score", &ask("0000")).await;
    assert_eq!(got.refusal().1, "model_version_mismatch");
}

#[tokio::test]
async fn rejects_sources_outside_the_folder_and_keeps_the_loaded_model() {
    let (service, folder) = models().await;
    let outside = folder.path().parent().unwrap().display().to_string();
    for source in [outside.as_str(), "../elsewhere", "/etc", "nobody", ""] {
        let body = json!({ "source": source }).to_string();
        let got = service
            .send(
                Request::put("/v1/reward-models/scalar")
                    .body(Body::from(body))
                    .unwrap(),
            )
            .await;
        assert!(got.status.is_client_error(), "{source}: {:?}", got.bytes);
    }
    assert_eq!(
        post(
            &service,
            "/v1/reward-models/scalar/score",
            &json!({ "items": [item(1)] })
        )
        .await
        .status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_a_model_from_a_hub_once() {
    let kept = tempfile::tempdir().unwrap();
    assay_tests::models::write(kept.path()).unwrap();
    let files = kept.path().join("scalar");
    let names: Vec<_> = std::fs::read_dir(&files)
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    let siblings: Vec<_> = names
        .iter()
        .map(|name| json!({ "rfilename": name.to_string_lossy() }))
        .collect();
    let listing = json!({ "sha": "0a1b", "siblings": siblings }).to_string();
    let hub = axum::Router::new()
        .route(
            "/api/models/small/scalar/revision/main",
            get(move || std::future::ready(listing.clone())),
        )
        .route(
            "/small/scalar/resolve/0a1b/{file}",
            get(
                move |axum::extract::Path(file): axum::extract::Path<String>| {
                    std::future::ready(std::fs::read(files.join(file)).unwrap())
                },
            ),
        );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, hub).await });

    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_owned();
    let service = service_with(move |node| {
        node.reward_models.folder = place;
        node.reward_models.hub = endpoint.into();
        node.reward_models.fetch = Fetching::Listed(vec!["small/*".to_owned()]);
    })
    .await;
    let load = |source: &str| {
        Request::put("/v1/reward-models/fetched")
            .body(Body::from(json!({ "source": source }).to_string()))
    };
    let refused = service.send(load("other/scalar").unwrap()).await.json();
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`reward_models.fetch`"),
        "{refused}"
    );
    let refused = service.send(load("small/nobody").unwrap()).await.json();
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("404"),
        "{refused}"
    );
    assert_eq!(
        service.send(load("small/scalar").unwrap()).await.status,
        200
    );
    serving.abort();
    // What is there is not asked for again.
    assert_eq!(
        service.send(load("small/scalar").unwrap()).await.status,
        200
    );
    let left: Vec<_> = std::fs::read_dir(folder.path().join("small"))
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert_eq!(left, ["scalar"]);
}
