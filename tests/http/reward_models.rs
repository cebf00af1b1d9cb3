//! Reward models on a whole node: pairs are stored in its record; without a model, every name is
//! unknown.

use std::sync::Arc;

use assay_core::BoxFuture;
use assay_core::reward_model::{
    ModelError, ModelInfo, ModelLoad, ModelReply, ModelRequest, ModelState, ModelStatus,
    RewardModels,
};
use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, service_with};

/// A model that never becomes ready.
struct Loading;

const LOADING: &str = "the model is loading";

impl RewardModels for Loading {
    fn list(&self) -> Vec<ModelStatus> {
        vec![ModelStatus {
            name: "rm".to_owned(),
            state: ModelState::Loading,
            problem: None,
            info: None,
            default: true,
            scored: 0,
            tokens: 0,
            waiting_tokens: 0,
        }]
    }

    fn find(&self, _: Option<&str>) -> Result<Arc<ModelInfo>, ModelError> {
        Err(ModelError::Unavailable(LOADING.to_owned()))
    }

    fn score(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(std::future::ready(Err(ModelError::Unavailable(
            LOADING.to_owned(),
        ))))
    }

    fn load(&self, _: String, _: ModelLoad) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>> {
        Box::pin(std::future::ready(Err(ModelError::NotLoadable(
            LOADING.to_owned(),
        ))))
    }

    fn unload(&self, _: &str) -> Result<(), ModelError> {
        Ok(())
    }
}

async fn post(service: &Service, path: &str, body: &Value) -> Got {
    service
        .send(
            Request::post(path)
                .body(Body::from(body.to_string()))
                .unwrap(),
        )
        .await
}

#[tokio::test]
async fn pairs_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("kept.db").display());
    let pairs = json!({ "pairs": [
        { "prompt": "2+2?", "accepted": "4", "rejected": "5", "source": { "step": 1 } },
        { "prompt": "3+3?", "accepted": [{ "role": "assistant", "content": "6" }], "rejected": "7", "reference": "6" },
    ] });
    let mut seen = Vec::new();
    for added in [2, 0] {
        let service = service_with(|config| config.store.database.clone_from(&database))
            .await
            .with_models(Arc::new(Loading));
        let collected = post(&service, "/v1/reward-models/rm/pairs", &pairs)
            .await
            .json();
        assert_eq!(
            collected,
            json!({ "added": added, "known": 2 - added, "total": 2 })
        );
        seen.push(service.get("/v1/reward-models/rm/pairs").await.json());
        service.node.stop().await;
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(
        (
            &seen[0]["pairs"][0]["source"],
            &seen[0]["pairs"][1]["reference"]
        ),
        (&json!({ "step": 1 }), &json!("6"))
    );
    assert_eq!(seen[0]["pairs"][1]["accepted"][0]["content"], "6");
}

#[tokio::test]
async fn reports_models_that_are_loading() {
    let service = service_with(|_| {}).await.with_models(Arc::new(Loading));
    let status = service.get("/v1/reward-models/rm").await.json();
    assert_eq!(
        (&status["state"], &status["model"]),
        (&json!("loading"), &json!(null))
    );
    let got = post(
        &service,
        "/v1/reward-models/rm/score",
        &json!({ "items": [{ "text": "1" }] }),
    )
    .await;
    assert_eq!(got.refusal(), (503, "model_unavailable".into(), None));
    assert_eq!(got.headers["retry-after"], "1");
}
