//! One run in detail.

use serde_json::json;

use crate::http::fixtures::{batch, item, service};

#[tokio::test]
async fn summarises_a_run_by_grader_and_step() {
    let service = service().await;
    for step in 1..=3 {
        let mut request = batch((0..4).map(|n| item(&(n % 2).to_string(), "\\boxed{1}")));
        request["run"] = json!("math/of one");
        request["step"] = json!(step);
        assert_eq!(service.grade(&request).await.status, 200);
    }
    let detail = service.get("/v1/runs/math%2Fof%20one?steps=2").await.json();
    assert_eq!(
        (&detail["run"], &detail["grades"], &detail["passed"]),
        (&json!("math/of one"), &json!(12), &json!(6))
    );
    let grader = &detail["graders"][0];
    assert_eq!(
        (&grader["grader"], &grader["score_deviation"]),
        (&json!("math@2"), &json!(0.5))
    );
    assert_eq!(
        grader["verdicts"],
        json!({ "correct": 6, "wrong_answer": 6 })
    );
    let steps: Vec<_> = detail["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["step"])
        .collect();
    assert_eq!(steps, [3, 2]);
    assert_eq!(detail["causes"], json!([]));
}

#[tokio::test]
async fn rejects_unknown_runs_and_invalid_parameters() {
    let service = service().await;
    assert_eq!(
        service.get("/v1/runs/absent").await.refusal(),
        (404, "not_found".into(), None)
    );
    for path in [
        "/v1/runs/r?steps=10001",
        "/v1/runs/r?steps=x",
        "/v1/runs/r?step=1",
        "/v1/runs/%ff",
    ] {
        assert_eq!(
            service.get(path).await.refusal().1,
            "invalid_parameter",
            "{path}"
        );
    }
}
