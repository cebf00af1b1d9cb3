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
        let service = service_with(|config| config.store.database = database.as_str().into())
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

/// A batch of a run: for each prompt four completions, of which the first two are right.
fn rollouts(step: i64) -> Value {
    let items = (0..3).flat_map(|prompt| {
        (0..4).map(move |index| {
            let completion = if index < 2 {
                format!("{:index$}{prompt}", "")
            } else {
                format!("wrong {step} {index}")
            };
            json!({
                "id": format!("{prompt}-{index}"), "group": prompt.to_string(),
                "channel": "lists", "prompt": format!("print {prompt}"), "completion": completion,
                "task": { "type": "text", "answer": prompt.to_string() },
            })
        })
    });
    json!({ "run": "train", "step": step, "items": items.collect::<Vec<_>>() })
}

const FROM_RUN: &str = "/v1/reward-models/rm/pairs/from-run";

#[tokio::test]
async fn pairs_are_chosen_from_the_grades_of_a_run() {
    let service = service_with(|_| {}).await.with_models(Arc::new(Loading));
    let graded = post(&service, "/v1/grade", &rollouts(7)).await.json();
    assert_eq!(graded["results"][0]["pass"], true, "{graded}");
    let request = json!({ "run": "train", "per_prompt": 3, "reference": "/answer" });
    let found = post(&service, FROM_RUN, &request).await.json();
    let counts = |found: &Value| {
        ["added", "known", "total", "grades", "prompts", "uncertain"]
            .map(|name| found[name].as_u64().unwrap())
    };
    assert_eq!(counts(&found), [9, 0, 9, 12, 3, 0]);

    let pairs = service.get("/v1/reward-models/rm/pairs").await.json();
    for pair in pairs["pairs"].as_array().unwrap() {
        let reference = pair["reference"].as_str().unwrap();
        assert_eq!(pair["prompt"], format!("print {reference}"));
        assert_eq!(pair["accepted"].as_str().unwrap().trim(), reference);
        assert!(pair["rejected"].as_str().unwrap().starts_with("wrong 7"));
        let source = &pair["source"];
        assert_eq!(
            (
                &source["run"],
                &source["step"],
                &source["accepted_certainty"]
            ),
            (&json!("train"), &json!(7), &Value::Null)
        );
        let grade = source["accepted_grade"].as_str().unwrap();
        let grade = service.get(&format!("/v1/grades/{grade}")).await.json();
        assert_eq!(
            (&grade["pass"], &grade["completion"]),
            (&json!(true), &pair["accepted"])
        );
    }

    let again = post(&service, FROM_RUN, &request).await.json();
    assert_eq!(counts(&again), [0, 9, 9, 12, 3, 0]);
    post(&service, "/v1/grade", &rollouts(8)).await;
    let newer = json!({ "run": "train", "since_us": found["newest_us"].as_i64().unwrap() + 1 });
    let newer = post(&service, FROM_RUN, &newer).await.json();
    assert_eq!(counts(&newer), [12, 0, 21, 12, 3, 0]);
}

#[tokio::test]
async fn certain_pairs_need_known_error_rates() {
    let service = service_with(|_| {}).await.with_models(Arc::new(Loading));
    post(&service, "/v1/grade", &rollouts(1)).await;
    let request = json!({ "run": "train", "min_certainty": 0.9 });
    let found = post(&service, FROM_RUN, &request).await.json();
    assert_eq!(
        (&found["added"], &found["uncertain"]),
        (&json!(0), &json!(12))
    );
    let labelled = json!({
        "channel": "text/lists", "version": 3, "method": "labels", "right": 1000.0,
        "right_rejected": 10.0, "wrong": 1000.0, "wrong_passed": 10.0,
    });
    let calibrated = post(&service, "/v1/channels/calibrations", &labelled).await;
    assert_eq!(calibrated.status, 200, "{}", calibrated.json());
    let found = post(&service, FROM_RUN, &request).await.json();
    assert_eq!(
        (&found["added"], &found["uncertain"]),
        (&json!(12), &json!(0))
    );
    let pairs = service.get("/v1/reward-models/rm/pairs").await.json();
    let certainty = pairs["pairs"][0]["source"]["rejected_certainty"]
        .as_f64()
        .unwrap();
    assert!(certainty > 0.97 && certainty < 1.0, "{certainty}");
}

#[tokio::test]
async fn reports_why_no_pairs_can_be_chosen() {
    let service = service_with(|_| {}).await.with_models(Arc::new(Loading));
    post(&service, "/v1/grade", &rollouts(1)).await;
    let at = |pointer: &str| Some(pointer.to_owned());
    for (request, status, code, pointer) in [
        (json!({ "run": "other" }), 404, "not_found", None),
        (
            json!({ "run": "train", "reference": "/gold" }),
            422,
            "invalid_field",
            at("/reference"),
        ),
        (
            json!({ "run": "train", "reference": "gold" }),
            422,
            "invalid_field",
            at("/reference"),
        ),
        (
            json!({ "run": "train", "per_prompt": 33 }),
            422,
            "invalid_field",
            at("/per_prompt"),
        ),
        (
            json!({ "run": "train", "grades": 0 }),
            422,
            "invalid_field",
            at("/grades"),
        ),
        (
            json!({ "run": "train", "min_certainty": 0.4 }),
            422,
            "invalid_field",
            at("/min_certainty"),
        ),
    ] {
        let refused = post(&service, FROM_RUN, &request).await.refusal();
        assert_eq!(refused, (status, code.into(), pointer), "{request}");
    }
    let unknown = "/v1/reward-models/other/pairs/from-run";
    let refused = post(&service, unknown, &json!({ "run": "train" }))
        .await
        .refusal();
    assert_eq!((refused.0, refused.1.as_ref()), (404, "unknown_model"));
}

#[tokio::test]
async fn an_adjudication_counts_for_later_grades_of_the_same_completion() {
    let service = service_with(|_| {}).await.with_models(Arc::new(Loading));
    let graded = post(&service, "/v1/grade", &rollouts(1)).await.json();
    let grade = graded["results"][0]["grade"].as_str().unwrap();
    let adjudicate = format!("/v1/grades/{grade}/adjudicate");
    let adjudicated = post(&service, &adjudicate, &json!({ "pass": false })).await;
    assert_eq!(adjudicated.status, 200, "{}", adjudicated.json());
    post(&service, "/v1/grade", &rollouts(2)).await;
    post(
        &service,
        FROM_RUN,
        &json!({ "run": "train", "per_prompt": 32 }),
    )
    .await;
    let pairs = service
        .get("/v1/reward-models/rm/pairs?limit=1000")
        .await
        .json();
    let pairs = pairs["pairs"].as_array().unwrap();
    assert!(pairs.iter().all(|pair| pair["accepted"] != "0"));
    let rejected = pairs.iter().find(|pair| pair["rejected"] == "0").unwrap();
    assert_eq!(rejected["source"]["rejected_certainty"], 1.0);
}
