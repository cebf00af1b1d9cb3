//! `/compat/openrlhf`, with the requests that OpenRLHF's `remote_rm_fn` (0.8) sends to `serve_rm`.

use assay_core::reward_model::{ModelError, ModelInput};
use http::Method;
use serde_json::json;

use crate::fixtures::{MAX_TOKENS, busy, one, service};

const GET_REWARD: &str = "/compat/openrlhf/get_reward";

/// The client sends complete texts with the tokens of the chat template, and also prompts and
/// labels, which `serve_rm` ignores. It asserts that the reply has `rewards`.
#[tokio::test]
async fn returns_raw_scores_of_complete_texts() {
    let service = one("scalar");
    let body = json!({
        "query": ["<|im_start|>4", "<|im_start|>8.7"],
        "prompts": ["2+2?", "?"],
        "labels": ["4", "4"],
    });
    let got = service.post(GET_REWARD, &body).await;
    assert!(
        got.text().starts_with(r#"{"rewards":[4.0,8.7],"scores":["#),
        "{}",
        got.text()
    );
    assert_eq!(
        got.json()["extra_logs"],
        json!({ "dummy_scores": [4.0, 8.7] })
    );
    let score = got.json()["scores"][0].as_f64().unwrap();
    assert!(
        (score - 0.982_013).abs() < 1e-6,
        "the normalised score, by which the client filters prompts: {score}"
    );
    let text = "<|im_start|>4".into();
    assert_eq!(
        service.models.last_inputs()[0],
        ModelInput::Bare { text, ended: true }
    );
    assert_eq!(
        (got.header("assay-model-version"), got.header("assay-scale")),
        (Some("0123abcd"), Some("logit"))
    );
}

/// With several URLs, a client (0.8) with one query sends an empty list to all but the first. It
/// retries a failed request five times and then drops the reward of the query; it uses only the
/// first reply.
#[tokio::test]
async fn answers_an_empty_query_with_empty_lists() {
    for service in [one("scalar"), service(Vec::new())] {
        let got = service
            .post(
                GET_REWARD,
                &json!({ "query": [], "prompts": [], "labels": [] }),
            )
            .await;
        assert_eq!(
            (got.status, got.text().as_str()),
            (
                200,
                r#"{"rewards":[],"scores":[],"extra_logs":{"dummy_scores":[]}}"#
            )
        );
    }
}

#[tokio::test]
async fn replaces_lone_surrogates_in_queries() {
    let service = one("scalar");
    let body = r#"{"query":["4 \ud83d","5"]}"#.to_owned();
    assert_eq!(
        service.send(Method::POST, GET_REWARD, body).await.status,
        200
    );
    let text = "4 \u{fffd}".into();
    assert_eq!(
        service.models.last_inputs()[0],
        ModelInput::Bare { text, ended: true }
    );
}

#[tokio::test]
async fn returns_errors_in_the_format_of_openrlhf() {
    let service = one("scalar");
    let long = service
        .post(
            GET_REWARD,
            &json!({ "query": ["1", "x".repeat(MAX_TOKENS + 1)] }),
        )
        .await;
    assert_eq!(long.status, 422);
    assert!(
        long.json()["detail"]
            .as_str()
            .unwrap()
            .starts_with("input 1: "),
        "{}",
        long.text()
    );
    assert_eq!(
        service
            .post(GET_REWARD, &json!({ "queries": ["1"] }))
            .await
            .status,
        422
    );
    assert_eq!(
        one("classes")
            .post(GET_REWARD, &json!({ "query": ["1"] }))
            .await
            .status,
        422
    );
    let overloaded = busy().post(GET_REWARD, &json!({ "query": ["1"] })).await;
    assert_eq!(
        (overloaded.status, overloaded.header("retry-after")),
        (503, Some("7"))
    );
    *service.models.error.lock().unwrap() = Some(ModelError::Device("device lost".into()));
    assert_eq!(
        service
            .post(GET_REWARD, &json!({ "query": ["1"] }))
            .await
            .status,
        500
    );
}
