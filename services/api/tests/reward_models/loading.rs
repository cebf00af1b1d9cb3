//! Listing, loading, replacing and unloading models.

use http::Method;
use serde_json::json;

use crate::fixtures::{model, one, service};

#[tokio::test]
async fn lists_models_with_their_details() {
    let service = service(vec![model("b", "scalar"), model("a", "labels")]);
    let list = service.get("/v1/reward-models").await.json();
    let names: Vec<_> = list["reward_models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["name"].clone())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let one = service.get("/v1/reward-models/b").await.json();
    assert_eq!(
        (&one["state"], &one["default"], &one["problem"]),
        (&json!("ready"), &json!(true), &json!(null))
    );
    assert_eq!(
        (&one["model"]["version"], &one["model"]["scale"]),
        (&json!("0123abcd"), &json!("logit"))
    );
    assert_eq!(
        service.get("/v1/reward-models/c").await.error(),
        (404, "unknown_model".into(), None)
    );
}

#[tokio::test]
async fn loads_and_replaces_models() {
    let service = one("scalar");
    let put = async |name: &str, body: serde_json::Value| {
        service
            .send(
                Method::PUT,
                &format!("/v1/reward-models/{name}"),
                body.to_string(),
            )
            .await
    };
    let body = json!({
        "source": "Skywork/Skywork-Reward-V2-Qwen3-0.6B", "options": { "pooling": "hf_nonpad" },
    });
    let got = put("skywork", body).await;
    assert_eq!((got.status, &got.json()["version"]), (200, &json!("4567")));
    assert_eq!(
        put("rm", json!({})).await.json()["source"],
        "org/rm",
        "the current source is loaded again"
    );
    {
        let loaded = service.models.loaded.lock().unwrap();
        assert_eq!(
            loaded[0].1.options.as_ref().unwrap()["pooling"],
            "hf_nonpad"
        );
        assert_eq!(loaded[1].1, assay_core::reward_model::ModelLoad::default());
    }
    assert_eq!(
        put("rm", json!({ "source": "/etc" })).await.error(),
        (422, "model_not_loadable".into(), None)
    );
    assert_eq!(
        put("rm", json!({ "sauce": "x" })).await.error().1,
        "invalid_field"
    );
    assert_eq!(put("new", json!({})).await.error().1, "unknown_model");
}

#[tokio::test]
async fn unloads_models() {
    let service = one("scalar");
    let got = service
        .send(Method::DELETE, "/v1/reward-models/rm", String::new())
        .await;
    assert_eq!((got.status, got.json()), (200, json!({ "unloaded": "rm" })));
    let again = service
        .send(Method::DELETE, "/v1/reward-models/rm", String::new())
        .await;
    assert_eq!(again.error().1, "unknown_model");
}
