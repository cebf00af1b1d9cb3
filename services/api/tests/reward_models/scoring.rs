//! `POST /v1/reward-models/{name}/score`.

use std::time::Duration;

use assay_api::ApiLimits;
use assay_core::reward_model::{ModelError, ModelInput, Truncate};
use serde_json::{Value, json};

use crate::fixtures::{MAX_TOKENS, busy, model, one, service, service_with};

const SCORE: &str = "/v1/reward-models/rm/score";

#[tokio::test]
async fn returns_raw_scores_with_version_and_scale() {
    let service = one("scalar");
    let items = json!([
        { "id": "a", "prompt": "2+2?", "completion": "8.7", "reference": "4" },
        { "text": "plain text -3.25" }, { "text": "q", "pair": "p 0.1" }, { "ids": [5, 23] },
    ]);
    let got = service.post(SCORE, &json!({ "items": items })).await;
    let body = got.json();
    assert_eq!(
        (&body["model"], &body["version"]),
        (&json!("rm"), &json!("0123abcd"))
    );
    assert_eq!(
        (&body["scale"], &body["normalise"]),
        (&json!("logit"), &json!("sigmoid"))
    );
    let result = &body["results"][0];
    assert_eq!(
        (&result["id"], &result["index"], &result["last_ids"]),
        (&json!("a"), &json!(0), &json!([7, 8]))
    );
    assert!((result["score"].as_f64().unwrap() - 0.999_833).abs() < 1e-6);
    assert_eq!(body["usage"]["tokens"], 3 + 16 + 5 + 2);
    // The shortest decimals that are read back as the same 32-bit floats, not 8.699999809265137.
    for raw in [
        r#""raw":8.7,"#,
        r#""raw":-3.25,"#,
        r#""raw":0.1,"#,
        r#""raw":23.0,"#,
    ] {
        assert!(got.text().contains(raw), "{raw}: {}", got.text());
    }
    assert!(matches!(
        &service.models.last_inputs()[0],
        ModelInput::Rollout {
            prompt: Some(_),
            reference: Some(_),
            ..
        }
    ));
}

#[tokio::test]
async fn returns_the_outputs_of_every_head() {
    let result = async |head: &'static str, text: &str| {
        one(head)
            .post(SCORE, &json!({ "items": [{ "text": text }] }))
            .await
            .json()["results"][0]
            .clone()
    };
    let steps = result("steps", "0.5").await;
    assert_eq!(
        (&steps["steps"], &steps["raw"]),
        (&json!([0.75, 0.5]), &json!(0.5))
    );
    let labels = result("labels", "0.75").await;
    assert_eq!(
        (&labels["labels"], &labels["raw"]),
        (&json!({ "A": 0.75, "B": 0.25 }), &json!(0.75))
    );
    let classes = result("classes", "5").await;
    assert_eq!(
        (&classes["classes"], &classes["raw"]),
        (&json!([-100.0, 5.0, 0.0]), &Value::Null)
    );
    let embedding = result("embedding", "4").await;
    assert_eq!(
        (&embedding["embedding"], &embedding["score"]),
        (&json!([3.0, 4.0]), &Value::Null)
    );
    assert!(embedding.get("steps").is_none() && embedding.get("error").is_none());
}

#[tokio::test]
async fn errors_of_inputs_do_not_affect_other_inputs() {
    let service = one("scalar");
    let items = json!([
        { "text": "1" },
        { "text": "x".repeat(MAX_TOKENS + 1) },
        { "ids": [99] },
        { "text": "overflow" },
    ]);
    let body = service.post(SCORE, &json!({ "items": items })).await.json();
    let codes: Vec<_> = body["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["error"]["code"].clone())
        .collect();
    assert_eq!(
        codes,
        [
            json!(null),
            json!("too_long"),
            json!("unreadable"),
            json!("internal")
        ]
    );
    assert_eq!(
        (&body["results"][0]["raw"], body["results"][1].get("raw")),
        (&json!(1.0), None)
    );
    assert_eq!(body["results"][1]["index"], 1);
}

#[tokio::test]
async fn passes_request_options_to_the_model() {
    let service = one("scalar");
    let body = json!({
        "items": [{ "text": "1" }],
        "truncate": "left",
        "expected_version": "0123",
        "timeout_ms": 250,
        "speed": 1,
    });
    let reply = service.post(SCORE, &body).await.json();
    assert_eq!(reply["warnings"][0]["pointer"], "/speed");
    let requests = service.models.requests.lock().unwrap();
    let request = requests.last().unwrap();
    assert_eq!(
        (request.model.as_deref(), request.truncate),
        (Some("rm"), Truncate::Left)
    );
    assert_eq!(request.timeout, Some(Duration::from_millis(250)));
}

#[tokio::test]
async fn returns_a_code_for_every_error() {
    let service = one("scalar");
    let error_of = async |path: &str, body: Value| service.post(path, &body).await.error();
    let text = || json!({ "items": [{ "text": "1" }] });
    assert_eq!(
        error_of("/v1/reward-models/other/score", text()).await.1,
        "unknown_model"
    );
    assert_eq!(
        error_of("/v1/reward-models/a%0Ab/score", text()).await.1,
        "invalid_parameter"
    );
    let other = json!({ "items": [{ "text": "1" }], "expected_version": "9" });
    assert_eq!(
        error_of(SCORE, other).await,
        (409, "model_version_mismatch".into(), None)
    );
    let two = json!({ "items": [{ "text": "1" }, { "text": "1", "ids": [1] }] });
    assert_eq!(
        error_of(SCORE, two).await,
        (422, "invalid_field".into(), Some("/items/1/ids".into()))
    );
    assert_eq!(
        error_of(SCORE, json!({ "items": [] })).await.1,
        "empty_batch"
    );
    for (error, expected) in [
        (
            ModelError::Unavailable("loading".into()),
            (503, "model_unavailable"),
        ),
        (
            ModelError::TooLarge {
                tokens: 2,
                limit: 1,
            },
            (413, "too_many_items"),
        ),
        (ModelError::Expired, (504, "deadline_exceeded")),
        (ModelError::ShuttingDown, (503, "shutting_down")),
        (ModelError::Device("device lost".into()), (500, "internal")),
    ] {
        *service.models.error.lock().unwrap() = Some(error);
        let (status, code, _) = error_of(SCORE, text()).await;
        assert_eq!((status, code.as_str()), expected);
    }
}

#[tokio::test]
async fn overload_errors_have_a_retry_after_header() {
    let got = busy()
        .post(SCORE, &json!({ "items": [{ "text": "1" }] }))
        .await;
    assert_eq!(got.error(), (429, "overloaded".into(), None));
    assert_eq!(got.header("retry-after"), Some("7"));
}

#[tokio::test]
async fn rejects_too_many_items() {
    let limits = ApiLimits {
        batch_items: 2,
        ..ApiLimits::default()
    };
    let service = service_with(vec![model("rm", "scalar")], limits);
    let items = json!([{ "text": "1" }, { "text": "1" }, { "text": "1" }]);
    assert_eq!(
        service
            .post(SCORE, &json!({ "items": items }))
            .await
            .error()
            .1,
        "too_many_items"
    );
}

#[tokio::test]
async fn selects_the_model_by_name() {
    let service = service(vec![model("a", "scalar"), model("b", "labels")]);
    let scale = async |name: &str| {
        let path = format!("/v1/reward-models/{name}/score");
        service
            .post(&path, &json!({ "items": [{ "text": "0.5" }] }))
            .await
            .json()["scale"]
            .clone()
    };
    assert_eq!(
        (scale("a").await, scale("b").await),
        (json!("logit"), json!("probability"))
    );
}
