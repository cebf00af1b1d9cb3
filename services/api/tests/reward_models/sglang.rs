//! `/compat/sglang`, with the requests that the client in Skywork-Reward-V2's README (4f380f4) and
//! verl's reward loop (14af4d3) send to SGLang 0.5.

use assay_core::reward_model::ModelInput;
use http::Method;
use serde_json::{Value, json};

use crate::fixtures::{MAX_TOKENS, busy, one};

/// Skywork's client posts `{"model", "text": [...]}` and reads `r["embedding"][0]` of each result.
#[tokio::test]
async fn returns_raw_scores_to_the_skywork_client() {
    let service = one("scalar");
    let body = json!({
        "model": "Skywork/Skywork-Reward-V2-Qwen3-0.6B", "text": ["good 23.125", "bad 3.6"],
    });
    let got = service.post("/compat/sglang/classify", &body).await;
    let rewards: Vec<_> = got
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["embedding"][0].clone())
        .collect();
    assert_eq!(rewards, [json!(23.125), json!(3.6)]);
    assert!(
        got.text().contains(r#""embedding":[3.6]"#),
        "{}",
        got.text()
    );
    assert_eq!(
        (got.header("assay-model-version"), got.header("assay-scale")),
        (Some("0123abcd"), Some("logit"))
    );
    let meta = &got.json()[0]["meta_info"];
    assert_eq!(
        (&meta["prompt_tokens"], &meta["cached_tokens"]),
        (&json!(11), &json!(0))
    );
}

#[tokio::test]
async fn answers_one_input_with_an_object_and_a_list_with_an_array() {
    let service = one("scalar");
    let got = async |method: Method, body: Value| {
        service
            .send(method, "/compat/sglang/classify", body.to_string())
            .await
            .json()
    };
    assert_eq!(
        got(Method::PUT, json!({ "text": "2.5" })).await["embedding"],
        json!([2.5])
    );
    assert_eq!(
        got(Method::POST, json!({ "text": ["2.5"] })).await[0]["embedding"],
        json!([2.5])
    );
    assert_eq!(
        got(Method::POST, json!({ "input_ids": [4, 7] })).await["embedding"],
        json!([7.0])
    );
    assert_eq!(service.models.last_inputs(), [ModelInput::Ids(vec![4, 7])]);
    assert_eq!(
        got(Method::POST, json!({ "input_ids": [[4], [9]] })).await[1]["embedding"],
        json!([9.0])
    );
}

/// SGLang applies a softmax to the single number, which is always 1.0.
#[tokio::test]
async fn classify_does_not_apply_a_softmax_to_a_single_number() {
    let got = one("scalar")
        .post(
            "/compat/sglang/v1/classify",
            &json!({ "model": "rm", "input": ["-4.5"] }),
        )
        .await;
    let data = &got.json()["data"][0];
    assert_eq!(
        (&data["probs"], &data["num_classes"], &data["label"]),
        (&json!([-4.5]), &json!(1), &json!("LABEL_0"))
    );
    let classes = one("classes")
        .post("/compat/sglang/v1/classify", &json!({ "input": "5" }))
        .await
        .json();
    let probs = classes["data"][0]["probs"].as_array().unwrap().clone();
    assert!(
        (probs
            .iter()
            .map(|value| value.as_f64().unwrap())
            .sum::<f64>()
            - 1.0)
            .abs()
            < 1e-6
    );
    assert_eq!(classes["data"][0]["label"], "middling");
}

/// verl posts one rendered text and reads `data[-1]["embedding"][-1]`.
#[tokio::test]
async fn returns_the_raw_score_to_verl() {
    let body = json!({ "model": "/models/rm", "input": "rendered 8.7" });
    let got = one("scalar")
        .post("/compat/sglang/v1/embeddings", &body)
        .await;
    assert!(
        got.text().contains(r#""embedding":[8.7]"#),
        "{}",
        got.text()
    );
    let reply = got.json();
    let last = reply["data"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["embedding"], &last["object"], &last["index"]),
        (&json!([8.7]), &json!("embedding"), &json!(0))
    );
    assert_eq!(
        (&reply["object"], &reply["usage"]["prompt_tokens"]),
        (&json!("list"), &json!(12))
    );
}

#[tokio::test]
async fn returns_label_probabilities_of_a_verifier() {
    let service = one("labels");
    let score = async |rest: Value| {
        let mut body =
            json!({ "query": "is it right? ", "items": ["0.75", "0.5"], "apply_softmax": true });
        body.as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        service.post("/compat/sglang/v1/score", &body).await
    };
    let got = score(json!({ "label_token_ids": [9454, 2753] }))
        .await
        .json();
    assert_eq!(
        (&got["scores"], &got["object"]),
        (&json!([[0.75, 0.25], [0.5, 0.5]]), &json!("scoring"))
    );
    assert_eq!(
        service.models.last_inputs()[0],
        ModelInput::Text("is it right? 0.75".into())
    );
    assert_eq!(
        score(json!({ "label_token_ids": [1, 2, 3] })).await.status,
        400
    );
    assert_eq!(score(json!({ "apply_softmax": false })).await.status, 400);
    score(json!({ "query": "0.5", "items": "so ", "item_first": true })).await;
    assert_eq!(
        service.models.last_inputs(),
        [ModelInput::Text("so 0.5".into())]
    );
    let many = score(json!({ "query": "q".repeat(2 << 20), "items": vec![""; 100] })).await;
    assert!(
        many.status == 400 && many.text().contains("bytes; send fewer items"),
        "{}",
        many.text()
    );
    let body = json!({ "query": "q", "items": ["1"], "apply_softmax": true });
    assert_eq!(
        one("scalar")
            .post("/compat/sglang/v1/score", &body)
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn returns_errors_in_the_formats_of_sglang() {
    let service = one("scalar");
    let long = "x".repeat(MAX_TOKENS + 1);
    let native = service
        .post("/compat/sglang/classify", &json!({ "text": long }))
        .await;
    assert!(
        native.status == 400
            && native.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains("at most 1000")
    );
    assert_eq!(
        service
            .post("/compat/sglang/classify", &json!({ "text": [1, 2] }))
            .await
            .status,
        400
    );
    assert_eq!(
        service
            .post("/compat/sglang/classify", &json!({}))
            .await
            .status,
        400
    );
    let openai = service
        .post("/compat/sglang/v1/embeddings", &json!({ "input": long }))
        .await
        .json();
    assert_eq!(
        (&openai["object"], &openai["type"], &openai["code"]),
        (&json!("error"), &json!("BadRequestError"), &json!(400))
    );
    let busy = busy();
    for path in ["classify", "v1/classify", "v1/embeddings"] {
        let got = busy
            .post(
                &format!("/compat/sglang/{path}"),
                &json!({ "text": "1", "input": "1" }),
            )
            .await;
        assert_eq!(
            (got.status, got.header("retry-after")),
            (503, Some("7")),
            "{path}"
        );
    }
    assert_eq!(one("scalar").get("/compat/sglang/health").await.status, 200);
}
