//! Oversized, unusual and malformed requests get documented replies, and the service stays up.

use axum::body::Body;
use http::Request;
use serde_json::json;

use crate::http::fixtures::{Got, Service, batch, item, service, service_with};

async fn still_up(service: &Service) {
    let body = service.grade(&batch([item("1", "1")])).await.json();
    assert_eq!(body["results"][0]["verdict"], "correct");
}

#[tokio::test]
async fn unusual_batches_get_documented_replies() {
    let service = service().await;
    let refusal = async |body: String| service.grade_with(body, &[]).await.refusal();
    let at = |pointer: &str| Some(pointer.to_owned());
    assert_eq!(
        refusal("{".into()).await,
        (400, "malformed_json".into(), None)
    );
    assert_eq!(
        refusal(r#"{"step":NaN,"items":[]}"#.into()).await,
        (400, "malformed_json".into(), at("/step"))
    );
    assert_eq!(
        refusal(r#"{"items":[]}"#.into()).await,
        (422, "empty_batch".into(), at("/items"))
    );
    let unknown = json!({ "completion": "", "task": { "type": "maths" } });
    assert_eq!(
        refusal(batch([item("1", "1"), unknown]).to_string()).await,
        (422, "unknown_grader".into(), at("/items/1/task/type"))
    );
    let mut twins = batch([item("1", "1"), item("1", "1")]);
    twins["items"][0]["id"] = json!("x");
    twins["items"][1]["id"] = json!("x");
    assert_eq!(
        refusal(twins.to_string()).await,
        (422, "duplicate_id".into(), at("/items/1/id"))
    );
    let many = format!(r#"{{"items":[{}]}}"#, vec!["{}"; 200_000].join(","));
    assert_eq!(
        refusal(many).await,
        (413, "too_many_items".into(), at("/items"))
    );
    let mut policy = batch([item("1", "1")]);
    policy["policy"] = json!("mine");
    assert_eq!(
        refusal(policy.to_string()).await,
        (422, "unknown_policy".into(), at("/policy"))
    );
    let mut statistic = batch([item("1", "1")]);
    statistic["statistics"] = json!(["mean", "mode"]);
    assert_eq!(
        refusal(statistic.to_string()).await,
        (422, "unknown_statistic".into(), at("/statistics/1"))
    );
    let deep = format!(
        r#"{{"items":[{{"completion":"","task":{{"type":"math","answer":{}1{}}}}}]}}"#,
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    assert_eq!(
        refusal(deep).await,
        (422, "too_deep".into(), at("/items/0/task"))
    );
    let not_a_number = r#"{"items":[{"completion":"1","task":{"type":"math","answer":"1"},"meta":{"tokens":1e999}}]}"#;
    assert_eq!(refusal(not_a_number.into()).await.0, 422);
    still_up(&service).await;
}

#[tokio::test]
async fn an_item_of_five_megabytes_is_too_long_and_affects_no_other() {
    let service = service().await;
    let long = "1".repeat(5_000_000);
    let body = service
        .grade(&batch([item("1", &long), item("1", "1")]))
        .await
        .json();
    assert_eq!(
        (&body["results"][0]["verdict"], &body["results"][0]["score"]),
        (&json!("too_long"), &json!(0.0))
    );
    assert_eq!(body["results"][1]["verdict"], "correct");
}

#[tokio::test]
async fn rejects_bodies_over_the_limit_compressed_or_not() {
    let service = service_with(|config| config.server.body_bytes = 10_000).await;
    let large = batch([item("1", &"x".repeat(20_000))]).to_string();
    assert_eq!(
        service.grade_with(large.clone(), &[]).await.refusal().1,
        "body_too_large"
    );
    let packed = zstd::encode_all(large.as_bytes(), 1).unwrap();
    assert!(packed.len() < 10_000);
    assert_eq!(
        service
            .grade_with(packed, &[("content-encoding", "zstd")])
            .await
            .refusal()
            .1,
        "body_too_large"
    );
    still_up(&service).await;
}

#[tokio::test]
async fn a_full_node_replies_429_with_retry_after() {
    let service = service_with(|config| config.engine.body_bytes_in_flight = 100_000).await;
    let mut others = service.node.engine().admission().memory(&"others".into());
    others.count(99_900);
    let got = service.grade(&batch([item("1", "1")])).await;
    assert_eq!(got.refusal(), (429, "overloaded".into(), None));
    assert!(
        got.headers["retry-after"]
            .to_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            >= 1
    );
    drop(others);
    still_up(&service).await;
    let never = service
        .grade(&batch([item("1", &"x".repeat(30_000))]))
        .await;
    assert_eq!(never.refusal(), (413, "body_too_large".into(), None));
    assert!(
        message(&never).contains("`engine.body_bytes_in_flight`"),
        "{}",
        message(&never)
    );
    still_up(&service).await;
}

fn message(got: &Got) -> String {
    got.json()["error"]["message"].as_str().unwrap().to_owned()
}

/// An array that takes a hundred times its size when parsed.
fn small_objects(count: usize) -> String {
    format!("[{}{{}}]", r#"{"a":0},"#.repeat(count))
}

#[tokio::test]
async fn rejects_bodies_that_would_take_too_much_memory_when_parsed() {
    let service = service().await;
    let many = small_objects(1_000_000);
    for (field, rest) in [
        ("meta", r#""task":{"type":"math","answer":"1"}"#),
        ("task", r#""meta":{}"#),
    ] {
        let body = format!(r#"{{"items":[{{"completion":"1","{field}":{{"x":{many}}},{rest}}}]}}"#);
        let packed = zstd::encode_all(body.as_bytes(), 1).unwrap();
        assert!(packed.len() < 20_000, "{}", packed.len());
        let got = service
            .grade_with(packed, &[("content-encoding", "zstd")])
            .await;
        assert_eq!(got.refusal(), (413, "body_too_large".into(), None));
        assert!(
            message(&got).contains("`server.parsed_bytes`"),
            "{}",
            message(&got)
        );
    }
    // All counted memory was released.
    let admission = service.node.engine().admission();
    let mut all = admission.memory(&"others".into());
    all.grow(admission.max_request_bytes()).unwrap();
    still_up(&service).await;
}

#[tokio::test]
async fn parses_a_body_only_if_its_parsed_form_fits_into_memory() {
    let service = service().await;
    let admission = service.node.engine().admission();
    let mut others = admission.memory(&"others".into());
    // Enough memory for the bytes of the body, but not for its values.
    others.count(2 * admission.max_request_bytes() - (1 << 20));
    let body = format!(
        r#"{{"items":[{{"completion":"1","task":{{"type":"math","answer":"1"}},"meta":{{"x":{}}}}}]}}"#,
        small_objects(10_000)
    );
    assert!(body.len() < 100_000);
    assert_eq!(
        service.grade_with(body.clone(), &[]).await.refusal(),
        (429, "overloaded".into(), None)
    );
    drop(others);
    assert_eq!(
        service.grade_with(body, &[]).await.json()["results"][0]["verdict"],
        "correct"
    );
}

#[tokio::test]
async fn routes_without_batches_accept_only_small_bodies() {
    let service = service().await;
    let id = "0".repeat(26);
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(1 << 20));
    let costly = small_objects(50_000);
    for (method, path) in [
        ("POST", "/v1/policies/check".to_owned()),
        ("POST", "/v1/channels/calibrations".to_owned()),
        ("POST", format!("/v1/grades/{id}/adjudicate")),
        ("POST", format!("/v1/grades/{id}/comments")),
        ("PUT", "/v1/reward-models/mine".to_owned()),
    ] {
        for body in [&large, &costly] {
            let request = Request::builder()
                .method(method)
                .uri(&path)
                .body(Body::from(body.clone()))
                .unwrap();
            let got = service.send(request).await;
            assert_eq!(
                got.refusal(),
                (413, "body_too_large".into(), None),
                "{path}"
            );
            assert!(message(&got).contains("this route"), "{}", message(&got));
        }
    }
    for path in [
        "/v1/prompts/suggest",
        "/compat/piston/api/v2/execute",
        "/compat/sandboxfusion/run_code",
    ] {
        let body = format!("{{\"x\":\"{}\"}}", "x".repeat(16 << 20));
        let got = service
            .send(Request::post(path).body(body.into()).unwrap())
            .await;
        assert_eq!(got.status, 413, "{path}");
    }
    still_up(&service).await;
}

#[tokio::test]
async fn rejects_deeply_nested_values() {
    let service = service().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let got = service
        .send(
            Request::post("/v1/policies/check")
                .body(deep.into())
                .unwrap(),
        )
        .await;
    assert_eq!(got.refusal(), (422, "too_deep".into(), None));
}

#[tokio::test]
async fn grades_items_with_lone_surrogates() {
    let service = service().await;
    let task = r#""task":{"type":"math","answer":"1"}"#;
    let body = format!(
        r#"{{"items":[{{"completion":"\\boxed{{1}}",{task}}},{{"completion":"\ud83d \\boxed{{1}}",{task}}},
            {{"completion":[{{"role":"assistant","content":"\\boxed{{1}} \udc00"}}],{task}}}]}}"#
    );
    let reply = service.grade_with(body, &[]).await.json();
    let results = reply["results"].as_array().unwrap();
    assert_eq!(
        results
            .iter()
            .map(|result| &result["verdict"])
            .collect::<Vec<_>>(),
        ["correct"; 3]
    );
    let warnings = reply["warnings"].as_array().unwrap().iter();
    let listed: Vec<_> = warnings
        .map(|warning| (&warning["code"], &warning["pointer"]))
        .collect();
    let code = json!("lone_surrogate");
    assert_eq!(
        listed,
        [
            (&code, &json!("/items/1/completion")),
            (&code, &json!("/items/2/completion/0/content"))
        ]
    );
    let wrong = r#"{"items":[{"completion":"1","task":{"type":"math","answer":"\ud800"}}]}"#;
    let got = service.grade_with(wrong, &[]).await;
    assert_eq!(
        got.refusal(),
        (
            422,
            "invalid_task".into(),
            Some("/items/0/task/answer".into())
        )
    );
    let got = service
        .send(
            Request::post("/v1/policies/check")
                .body(r#"{"a":["\udc00"]}"#.into())
                .unwrap(),
        )
        .await;
    assert_eq!(
        got.refusal(),
        (422, "invalid_field".into(), Some("/a/0".into()))
    );
}

#[tokio::test]
async fn reports_unknown_pages() {
    let service = service().await;
    assert_eq!(
        service.get("/v1/grade").await.refusal(),
        (405, "method_not_allowed".into(), None)
    );
    assert_eq!(
        service.get("/v2").await.refusal(),
        (404, "not_found".into(), None)
    );
    for path in [
        "/healthz",
        "/readyz",
        "/docs",
        "/openapi.json",
        "/metrics",
        "/v1/graders",
        "/v1/runs",
    ] {
        assert_eq!(service.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn reports_shutdown_to_clients() {
    let service = service().await;
    service
        .node
        .engine()
        .shut_down(std::time::Duration::from_secs(5))
        .await;
    assert_eq!(
        service.grade(&batch([item("1", "1")])).await.refusal(),
        (503, "shutting_down".into(), None)
    );
    assert_eq!(service.get("/readyz").await.status, 503);
    assert_eq!(service.get("/healthz").await.status, 200);
}
