//! `/compat/vllm`, with the requests of verl's reward loop (14af4d3) and of the examples in vLLM's
//! documentation (0.33).

use assay_core::reward_model::{ModelError, ModelInput, Truncate};
use serde_json::{Value, json};

use crate::fixtures::{MAX_TOKENS, Service, busy, model, one, service};

const CLASSIFY: &str = "/compat/vllm/classify";

async fn probs(service: &Service, rest: Value) -> Value {
    let mut body = json!({ "model": "org/rm", "input": "rendered 8.7" });
    body.as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    service.post(CLASSIFY, &body).await.json()["data"][0]["probs"].clone()
}

/// verl sends the path of the model, a rendered text and `activation: false`. vLLM ignores that
/// field since 0.11.2 and applies a sigmoid. verl reads `data[-1]["probs"][-1]`.
#[tokio::test]
async fn returns_the_raw_score_to_verl() {
    let service = one("scalar");
    let body = json!({ "model": "org/rm", "input": "rendered 8.7", "activation": false });
    let got = service.post(CLASSIFY, &body).await;
    assert!(got.text().contains(r#""probs":[8.7]"#), "{}", got.text());
    assert_eq!(
        (got.header("assay-model-version"), got.header("assay-scale")),
        (Some("0123abcd"), Some("logit"))
    );
    let reply = got.json();
    let data = reply["data"].as_array().unwrap();
    assert!(
        (data.last().unwrap()["probs"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .as_f64()
            .unwrap()
            - 8.7)
            .abs()
            < 1e-9
    );
    assert_eq!(
        (&data[0]["label"], &data[0]["num_classes"]),
        (&json!("LABEL_0"), &json!(1))
    );
    assert!(reply["id"].as_str().unwrap().starts_with("classify-") && reply["object"] == "list");
    assert!(reply["created"].as_u64().unwrap() > 1_700_000_000);
    let usage = json!({
        "prompt_tokens": 12,
        "total_tokens": 12,
        "completion_tokens": 0,
        "prompt_tokens_details": null,
    });
    assert_eq!(reply["usage"], usage);
    assert_eq!(
        service.models.last_inputs(),
        [ModelInput::Text("rendered 8.7".into())]
    );
}

#[tokio::test]
async fn applies_a_sigmoid_to_a_single_number_only_on_request() {
    let service = one("scalar");
    assert_eq!(
        probs(&service, json!({})).await,
        json!([8.7]),
        "unlike in vLLM, no sigmoid by default"
    );
    assert_eq!(
        probs(&service, json!({ "use_activation": false })).await,
        json!([8.7])
    );
    let activated = probs(&service, json!({ "use_activation": true })).await[0]
        .as_f64()
        .unwrap();
    assert!((activated - 0.999_833).abs() < 1e-6);
    assert_eq!(
        probs(
            &service,
            json!({ "use_activation": false, "activation": true })
        )
        .await,
        json!([8.7])
    );
    assert_eq!(
        probs(
            &one("labels"),
            json!({ "input": "0.5", "use_activation": true })
        )
        .await,
        json!([0.5, 0.5])
    );
}

#[tokio::test]
async fn applies_a_softmax_to_classes_by_default() {
    let service = one("classes");
    let soft = probs(&service, json!({ "input": "5" })).await;
    let sum: f64 = soft
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-6, "{soft}");
    assert_eq!(
        probs(&service, json!({ "input": "5", "use_activation": false })).await,
        json!([-100.0, 5.0, 0.0])
    );
    let labelled = service
        .post(CLASSIFY, &json!({ "input": "5" }))
        .await
        .json();
    assert_eq!(labelled["data"][0]["label"], "middling");
}

#[tokio::test]
async fn finds_models_by_name_or_source() {
    let service = service(vec![model("a", "scalar"), model("b", "labels")]);
    let classify_with = async |name: &str| {
        let got = service
            .post(CLASSIFY, &json!({ "model": name, "input": "0.5" }))
            .await;
        (got.status, got.json()["model"].clone())
    };
    assert_eq!(classify_with("b").await, (200, json!("b")));
    assert_eq!(classify_with("org/b").await, (200, json!("b")));
    assert_eq!(classify_with("c").await, (404, json!(null)));
    let without = service
        .post(CLASSIFY, &json!({ "input": "0.5" }))
        .await
        .json();
    assert_eq!(without["model"], "a", "the default model");
}

#[tokio::test]
async fn accepts_texts_ids_and_conversations() {
    let service = one("scalar");
    let inputs_of = async |body: Value| {
        let got = service.post(CLASSIFY, &body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        service.models.last_inputs()
    };
    assert_eq!(inputs_of(json!({ "input": ["a 1", "b 2"] })).await.len(), 2);
    assert_eq!(
        inputs_of(json!({ "input": [1, 2, 3] })).await,
        [ModelInput::Ids(vec![1, 2, 3])]
    );
    assert_eq!(inputs_of(json!({ "input": [[1, 2], [3]] })).await.len(), 2);
    let bare = inputs_of(json!({ "input": "a 1", "add_special_tokens": false })).await;
    assert_eq!(
        bare,
        [ModelInput::Bare {
            text: "a 1".into(),
            ended: false
        }]
    );
    let messages = json!([
        { "role": "user", "content": "2+2?" },
        { "role": "assistant", "content": "it is 4" },
    ]);
    let conversation = inputs_of(json!({ "messages": messages })).await;
    let ModelInput::Rollout {
        prompt: Some(_),
        completion,
        reference: None,
    } = &conversation[0]
    else {
        panic!("{conversation:?}")
    };
    assert_eq!(completion.text(), "it is 4");
}

#[tokio::test]
async fn rejects_unsupported_fields_that_change_scores() {
    let service = one("scalar");
    let rejected = async |body: Value| {
        let got = service.post(CLASSIFY, &body).await;
        let error = &got.json()["error"];
        assert_eq!(
            (got.status, &error["type"], &error["code"]),
            (400, &json!("BadRequestError"), &json!(400))
        );
        error["message"].as_str().unwrap().to_owned()
    };
    let messages = json!([{ "role": "assistant", "content": "4" }]);
    assert!(
        rejected(json!({ "input": "1", "normalize": true }))
            .await
            .contains("`normalize` was removed")
    );
    assert!(
        rejected(json!({ "messages": messages, "chat_template": "x" }))
            .await
            .contains("`chat_template`")
    );
    assert!(
        rejected(json!({ "messages": messages, "add_generation_prompt": true }))
            .await
            .contains("own template")
    );
    assert!(
        rejected(json!({ "messages": [{ "role": "user", "content": "?" }] }))
            .await
            .contains("`assistant`")
    );
    assert!(
        rejected(json!({ "input": "1", "truncate_prompt_tokens": 5 }))
            .await
            .contains("-1")
    );
    assert!(
        rejected(json!({ "model": "rm" }))
            .await
            .contains("`input` or `messages`")
    );
    assert!(
        rejected(json!({ "input": "x".repeat(MAX_TOKENS + 1) }))
            .await
            .contains("at most 1000")
    );
    assert!(rejected(json!({ "input": [] })).await.contains("no input"));
}

#[tokio::test]
async fn truncates_long_texts_on_the_left() {
    let service = one("scalar");
    service
        .post(
            CLASSIFY,
            &json!({ "input": "1", "truncate_prompt_tokens": -1 }),
        )
        .await;
    assert_eq!(
        service.models.requests.lock().unwrap()[0].truncate,
        Truncate::Left
    );
}

/// verl does not retry after a 4xx, and retries up to sixteen times after a 5xx.
#[tokio::test]
async fn returns_a_retryable_status_when_busy() {
    let got = busy().post(CLASSIFY, &json!({ "input": "1" })).await;
    assert_eq!((got.status, got.header("retry-after")), (503, Some("7")));
    assert_eq!(got.json()["error"]["type"], "ServiceUnavailableError");
    let service = one("scalar");
    for error in [
        ModelError::Unavailable("loading".into()),
        ModelError::ShuttingDown,
    ] {
        *service.models.error.lock().unwrap() = Some(error);
        assert_eq!(
            service
                .post(CLASSIFY, &json!({ "input": "1" }))
                .await
                .status,
            503
        );
    }
    *service.models.error.lock().unwrap() = Some(ModelError::Device("device lost".into()));
    assert_eq!(
        service
            .post(CLASSIFY, &json!({ "input": "1" }))
            .await
            .status,
        500
    );
}

#[tokio::test]
async fn pooling_returns_the_outputs_of_the_head() {
    let pooled = async |head: &'static str, text: &str| {
        one(head)
            .post(
                "/compat/vllm/pooling",
                &json!({ "model": "rm", "input": text }),
            )
            .await
            .json()["data"][0]
            .clone()
    };
    assert_eq!(
        pooled("scalar", "8.5").await,
        json!({ "index": 0, "object": "pooling", "data": [8.5] })
    );
    assert_eq!(
        pooled("steps", "0.5").await["data"],
        json!([[0.25, 0.75], [0.5, 0.5]])
    );
    assert_eq!(pooled("embedding", "4").await["data"], json!([3.0, 4.0]));
    let body = json!({ "input": "1", "encoding_format": "base64" });
    assert_eq!(
        one("scalar")
            .post("/compat/vllm/pooling", &body)
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn scores_pairs_under_all_names_of_their_fields() {
    let service = one("scalar");
    for (left, right) in [
        ("text_1", "text_2"),
        ("queries", "documents"),
        ("queries", "items"),
        ("data_1", "data_2"),
    ] {
        for path in ["/compat/vllm/score", "/compat/vllm/v1/score"] {
            let body = json!({ "model": "rm", left: "q", right: ["a 1", "b 2"] });
            let got = service.post(path, &body).await.json();
            assert_eq!(
                got["data"][1],
                json!({ "index": 1, "object": "score", "score": 2.0 }),
                "{got}"
            );
        }
    }
    assert_eq!(
        service.models.last_inputs()[0],
        ModelInput::Pair("q".into(), "a 1".into())
    );
    let uneven = json!({ "text_1": ["a", "b"], "text_2": ["c"] });
    assert_eq!(
        service.post("/compat/vllm/score", &uneven).await.status,
        400
    );
    let cosine = one("embedding")
        .post(
            "/compat/vllm/score",
            &json!({ "text_1": "q", "text_2": "0.5" }),
        )
        .await;
    assert_eq!(
        (
            cosine.json()["data"][0]["score"].clone(),
            cosine.header("assay-scale")
        ),
        (json!(0.5), Some("cosine"))
    );
}

#[tokio::test]
async fn ranks_documents_best_first() {
    let service = one("scalar");
    for path in [
        "/compat/vllm/rerank",
        "/compat/vllm/v1/rerank",
        "/compat/vllm/v2/rerank",
    ] {
        let body =
            json!({ "model": "rm", "query": "q", "documents": ["a 1", "b 3", "c 2"], "top_n": 2 });
        let got = service.post(path, &body).await.json();
        let first = json!({
            "index": 1,
            "document": { "text": "b 3", "multi_modal": null },
            "relevance_score": 3.0,
        });
        assert_eq!(
            (got["results"].as_array().unwrap().len(), &got["results"][0]),
            (2, &first)
        );
        assert_eq!(
            got["usage"],
            json!({ "prompt_tokens": 9, "total_tokens": 9 })
        );
    }
}

#[tokio::test]
async fn lists_models_in_the_format_of_vllm() {
    let got = one("scalar").get("/compat/vllm/v1/models").await.json();
    let card = &got["data"][0];
    assert_eq!(
        (&card["id"], &card["root"], &card["max_model_len"]),
        (&json!("rm"), &json!("org/rm"), &json!(MAX_TOKENS))
    );
    assert_eq!(one("scalar").get("/compat/vllm/health").await.status, 200);
    assert_eq!(
        service(Vec::new()).get("/compat/vllm/health").await.status,
        503
    );
}
