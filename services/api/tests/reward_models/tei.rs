//! `/compat/tei`, with the requests that huggingface_hub's `InferenceClient` and the load tests of
//! text-embeddings-inference send to version 1.9.

use assay_core::reward_model::{ModelError, ModelInput, Truncate};
use serde_json::{Value, json};

use crate::fixtures::{MAX_TOKENS, busy, one};

const PREDICT: &str = "/compat/tei/predict";

#[tokio::test]
async fn applies_a_sigmoid_to_logits_unless_raw_scores_are_requested() {
    let service = one("scalar");
    let got = service
        .post(PREDICT, &json!({ "inputs": "8.7", "raw_scores": true }))
        .await;
    assert_eq!(got.text(), r#"[{"score":8.7,"label":"LABEL_0"}]"#);
    assert_eq!(
        (got.header("assay-model-version"), got.header("assay-scale")),
        (Some("0123abcd"), Some("logit"))
    );
    let activated = service
        .post(PREDICT, &json!({ "inputs": "0" }))
        .await
        .json();
    assert_eq!(activated, json!([{ "score": 0.5, "label": "LABEL_0" }]));
    let probability = one("labels")
        .post(PREDICT, &json!({ "inputs": "0.25" }))
        .await
        .json();
    assert_eq!(
        probability,
        json!([{ "score": 0.75, "label": "B" }, { "score": 0.25, "label": "A" }])
    );
    let steps = one("steps")
        .post(PREDICT, &json!({ "inputs": "0.25" }))
        .await
        .json();
    assert_eq!(
        steps,
        json!([{ "score": 0.25, "label": "LABEL_0" }]),
        "no sigmoid is applied to a probability"
    );
}

/// text-embeddings-inference subtracts the entry of largest magnitude before its softmax, which
/// overflows for these logits and fails the request.
#[tokio::test]
async fn softmax_of_distant_logits_is_finite_and_sorted() {
    let got = one("classes")
        .post(PREDICT, &json!({ "inputs": "5" }))
        .await
        .json();
    let labels: Vec<_> = got
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["label"].clone())
        .collect();
    assert_eq!(labels, ["middling", "good", "bad"]);
    let sum: f64 = got
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["score"].as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-6, "{got}");
    let raw = one("classes")
        .post(PREDICT, &json!({ "inputs": "5", "raw_scores": true }))
        .await
        .json();
    assert_eq!(raw[2], json!({ "score": -100.0, "label": "bad" }));
}

#[tokio::test]
async fn parses_two_strings_as_a_pair_and_lists_as_a_batch() {
    let service = one("scalar");
    let predict = async |inputs: Value| {
        let got = service
            .post(PREDICT, &json!({ "inputs": inputs, "raw_scores": true }))
            .await
            .json();
        (service.models.last_inputs(), got)
    };
    let (inputs, got) = predict(json!(["a 1", "b 2"])).await;
    assert_eq!(inputs, [ModelInput::Pair("a 1".into(), "b 2".into())]);
    assert_eq!(got[0]["score"], 2.0);
    let (inputs, got) = predict(json!([["a 1"], ["b 2", "c 3"]])).await;
    assert_eq!(
        inputs,
        [
            ModelInput::Text("a 1".into()),
            ModelInput::Pair("b 2".into(), "c 3".into())
        ]
    );
    assert_eq!(
        (&got[0][0]["score"], &got[1][0]["score"]),
        (&json!(1.0), &json!(3.0))
    );
    let (_, got) = predict(json!([["a 1"]])).await;
    assert_eq!(got[0][0]["score"], 1.0, "a batch of one is a batch");
}

/// text-embeddings-inference admits each input of a batch separately: 600 inputs exceed its limit
/// of 512, and a rejected input fails the whole request.
#[tokio::test]
async fn admits_all_inputs_of_a_batch_together() {
    let service = one("scalar");
    let inputs: Vec<_> = (0..600).map(|n| [n.to_string()]).collect();
    let got = service
        .post(PREDICT, &json!({ "inputs": inputs, "raw_scores": true }))
        .await
        .json();
    assert_eq!(
        (got.as_array().unwrap().len(), &got[599][0]["score"]),
        (600, &json!(599.0))
    );
    assert_eq!(service.models.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn returns_errors_in_the_format_of_tei() {
    let rejected = async |service: &crate::fixtures::Service, inputs: Value| {
        let got = service.post(PREDICT, &json!({ "inputs": inputs })).await;
        (
            got.status,
            got.json()["error_type"].as_str().unwrap().to_owned(),
        )
    };
    let service = one("scalar");
    assert_eq!(
        rejected(&service, json!("x".repeat(MAX_TOKENS + 1))).await,
        (422, "Validation".into())
    );
    assert_eq!(
        rejected(&service, json!(["a", "b", "c"])).await,
        (422, "Validation".into())
    );
    assert_eq!(
        rejected(&service, json!(7)).await,
        (422, "Validation".into())
    );
    assert_eq!(rejected(&service, json!([])).await, (400, "Empty".into()));
    assert_eq!(
        rejected(&service, json!("overflow")).await,
        (424, "Backend".into())
    );
    assert_eq!(
        rejected(&one("embedding"), json!("1")).await,
        (424, "Backend".into())
    );
    assert_eq!(
        rejected(&busy(), json!("1")).await,
        (429, "Overloaded".into())
    );
    *service.models.error.lock().unwrap() = Some(ModelError::Unavailable("loading".into()));
    assert_eq!(
        rejected(&service, json!("1")).await,
        (503, "Unhealthy".into())
    );
}

#[tokio::test]
async fn truncates_at_the_requested_end() {
    let service = one("scalar");
    let truncation = async |body: Value| {
        service.post(PREDICT, &body).await;
        service
            .models
            .requests
            .lock()
            .unwrap()
            .last()
            .unwrap()
            .truncate
    };
    assert_eq!(truncation(json!({ "inputs": "1" })).await, Truncate::Reject);
    assert_eq!(
        truncation(json!({ "inputs": "1", "truncate": true })).await,
        Truncate::Right
    );
    let left = json!({ "inputs": "1", "truncate": true, "truncation_direction": "Left" });
    assert_eq!(truncation(left).await, Truncate::Left);
}

#[tokio::test]
async fn ranks_texts_best_first() {
    let service = one("scalar");
    let body = json!({
        "query": "q", "texts": ["a 1", "b 3", "c 2"], "raw_scores": true, "return_text": true,
    });
    let got = service.post("/compat/tei/rerank", &body).await;
    assert_eq!(
        got.text(),
        concat!(
            r#"[{"index":1,"text":"b 3","score":3.0},"#,
            r#"{"index":2,"text":"c 2","score":2.0},"#,
            r#"{"index":0,"text":"a 1","score":1.0}]"#,
        )
    );
    assert_eq!(
        service.models.last_inputs()[0],
        ModelInput::Pair("q".into(), "a 1".into())
    );
    let got = service
        .post(
            "/compat/tei/rerank",
            &json!({ "query": "q", "texts": ["0"] }),
        )
        .await
        .json();
    assert_eq!(got, json!([{ "index": 0, "score": 0.5 }]));
    let empty = service
        .post("/compat/tei/rerank", &json!({ "query": "q", "texts": [] }))
        .await;
    assert_eq!(
        (empty.status, &empty.json()["error_type"]),
        (400, &json!("Empty"))
    );
}

#[tokio::test]
async fn embeddings_have_norm_one_unless_normalize_is_false() {
    let service = one("embedding");
    let got = service
        .post("/compat/tei/embed", &json!({ "inputs": ["4", "0"] }))
        .await;
    assert_eq!(got.text(), "[[0.6,0.8],[1.0,0.0]]");
    let got = service
        .post(
            "/compat/tei/embed",
            &json!({ "inputs": "4", "normalize": false }),
        )
        .await;
    assert_eq!(got.text(), "[[3.0,4.0]]");
    assert_eq!(
        one("scalar")
            .post("/compat/tei/embed", &json!({ "inputs": "4" }))
            .await
            .status,
        424
    );
}

#[tokio::test]
async fn describes_the_model_and_its_health() {
    let info = one("classes").get("/compat/tei/info").await.json();
    assert_eq!(
        (&info["model_id"], &info["model_dtype"]),
        (&json!("org/rm"), &json!("float32"))
    );
    assert_eq!(
        info["model_type"]["classifier"]["id2label"],
        json!({ "0": "bad", "1": "middling", "2": "good" })
    );
    let info = one("scalar").get("/compat/tei/info").await.json();
    assert_eq!(
        info["model_type"]["reranker"]["label2id"],
        json!({ "LABEL_0": 0 })
    );
    assert_eq!(one("scalar").get("/compat/tei/health").await.status, 200);
    let none = crate::fixtures::service(Vec::new());
    assert_eq!(
        none.get("/compat/tei/health").await.json()["error_type"],
        "Unhealthy"
    );
}
