//! What is too much, too odd or too broken gets its documented answer, and the service stays up.

use serde_json::json;

use crate::fixtures::{Service, batch, item, service, service_with};

async fn still_up(service: &Service) {
    let body = service.grade(&batch([item("1", "1")])).await.json();
    assert_eq!(body["results"][0]["verdict"], "correct");
}

#[tokio::test]
async fn odd_batches_get_their_documented_answers() {
    let service = service().await;
    let refusal = async |body: String| service.grade_with(body, &[]).await.refusal();
    let at = |pointer: &str| Some(pointer.to_owned());
    assert_eq!(refusal("{".into()).await, (400, "malformed_json".into(), None));
    assert_eq!(refusal(r#"{"step":NaN,"items":[]}"#.into()).await, (400, "malformed_json".into(), None));
    assert_eq!(refusal(r#"{"items":[]}"#.into()).await, (422, "empty_batch".into(), at("/items")));
    let unknown = json!({ "completion": "", "task": { "type": "maths" } });
    assert_eq!(
        refusal(batch([item("1", "1"), unknown]).to_string()).await,
        (422, "unknown_grader".into(), at("/items/1/task/type"))
    );
    let mut twins = batch([item("1", "1"), item("1", "1")]);
    twins["items"][0]["id"] = json!("x");
    twins["items"][1]["id"] = json!("x");
    assert_eq!(refusal(twins.to_string()).await, (422, "duplicate_id".into(), at("/items/1/id")));
    let many = format!(r#"{{"items":[{}]}}"#, vec!["{}"; 200_000].join(","));
    assert_eq!(refusal(many).await, (413, "too_many_items".into(), at("/items")));
    let mut policy = batch([item("1", "1")]);
    policy["policy"] = json!("mine");
    assert_eq!(refusal(policy.to_string()).await, (422, "unknown_policy".into(), at("/policy")));
    let mut statistic = batch([item("1", "1")]);
    statistic["statistics"] = json!(["mean", "mode"]);
    assert_eq!(refusal(statistic.to_string()).await, (422, "unknown_statistic".into(), at("/statistics/1")));
    let deep = format!(
        r#"{{"items":[{{"completion":"","task":{{"type":"math","answer":{}1{}}}}}]}}"#,
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    assert_eq!(refusal(deep).await, (422, "too_deep".into(), at("/items/0/task")));
    let not_a_number = r#"{"items":[{"completion":"1","task":{"type":"math","answer":"1"},"meta":{"tokens":1e999}}]}"#;
    assert_eq!(refusal(not_a_number.into()).await.0, 422);
    still_up(&service).await;
}

#[tokio::test]
async fn an_item_of_five_megabytes_is_too_long_and_costs_no_other() {
    let service = service().await;
    let long = "1".repeat(5_000_000);
    let body = service.grade(&batch([item("1", &long), item("1", "1")])).await.json();
    assert_eq!((&body["results"][0]["verdict"], &body["results"][0]["score"]), (&json!("too_long"), &json!(0.0)));
    assert_eq!(body["results"][1]["verdict"], "correct");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_packed_or_not() {
    let service = service_with(|config| config.server.body_bytes = 10_000).await;
    let large = batch([item("1", &"x".repeat(20_000))]).to_string();
    assert_eq!(service.grade_with(large.clone(), &[]).await.refusal().1, "body_too_large");
    let packed = zstd::encode_all(large.as_bytes(), 1).unwrap();
    assert!(packed.len() < 10_000);
    assert_eq!(service.grade_with(packed, &[("content-encoding", "zstd")]).await.refusal().1, "body_too_large");
    still_up(&service).await;
}

#[tokio::test]
async fn a_full_node_answers_429_with_a_time() {
    let service = service_with(|config| config.engine.body_bytes_in_flight = 1_000).await;
    let got = service.grade(&batch([item("1", &"x".repeat(2_000))])).await;
    assert_eq!(got.refusal(), (429, "overloaded".into(), None));
    assert!(got.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
    still_up(&service).await;
}

#[tokio::test]
async fn what_is_not_there_says_so() {
    let service = service().await;
    assert_eq!(service.get("/v1/grade").await.refusal(), (405, "method_not_allowed".into(), None));
    assert_eq!(service.get("/v2").await.refusal(), (404, "not_found".into(), None));
    for path in ["/healthz", "/readyz", "/docs", "/openapi.json", "/metrics", "/v1/graders", "/v1/runs"] {
        assert_eq!(service.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_node_that_shuts_down_says_so() {
    let service = service().await;
    service.node.engine().shut_down(std::time::Duration::from_secs(5)).await;
    assert_eq!(service.grade(&batch([item("1", "1")])).await.refusal(), (503, "shutting_down".into(), None));
    assert_eq!(service.get("/readyz").await.status, 503);
    assert_eq!(service.get("/healthz").await.status, 200);
}
