//! Grades are stored, listed and replayed.

use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, item, service};

async fn service_with_grades() -> (Service, Vec<Value>) {
    let service = service().await;
    let mut request = batch((0..10).map(|n| item(&(n % 2).to_string(), "\\boxed{1}")));
    request["run"] = json!("r");
    request["step"] = json!(3);
    let body = service.grade(&request).await.json();
    let results = body["results"].as_array().unwrap().clone();
    (service, results)
}

#[tokio::test]
async fn lists_grades_newest_first_in_pages() {
    let (service, results) = service_with_grades().await;
    let mut listed = Vec::new();
    let mut next = Some(String::new());
    while let Some(before) = next {
        let page = service
            .get(&format!("/v1/grades?run=r&limit=3{before}"))
            .await
            .json();
        listed.extend(
            page["grades"]
                .as_array()
                .unwrap()
                .iter()
                .map(|grade| grade["grade"].clone()),
        );
        next = page["next"].as_str().map(|id| format!("&before={id}"));
    }
    let expected: Vec<_> = results
        .iter()
        .rev()
        .map(|result| result["grade"].clone())
        .collect();
    assert_eq!(listed, expected);
    let wrong = service.get("/v1/grades?verdict=wrong_answer").await.json();
    assert_eq!(wrong["grades"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn records_rewards_whose_sum_overflows() {
    let service = service().await;
    for value in [1e308, -1e308, 1e308] {
        let mut one = item("2", "\\boxed{2}");
        one["meta"] = json!({ "m": value });
        let mut request = batch([one.clone(), one]);
        request["run"] = json!("x");
        request["step"] = json!(1);
        request["policy"] = json!({ "outcome": { "measure": "m" } });
        let got = service.grade(&request).await;
        assert_eq!(got.status, 200, "{:?}", got.bytes);
        assert!(
            got.json()["results"]
                .as_array()
                .unwrap()
                .iter()
                .all(|result| result["recorded"] == true)
        );
        loop {
            let ready = service.get("/readyz").await.json();
            assert_eq!(
                (&ready["status"], &ready["record"]["set_aside"]),
                (&json!("ready"), &json!(0))
            );
            if ready["record"]["pending"] == 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    assert_eq!(service.get("/v1/runs/x").await.status, 200);
}

#[tokio::test]
async fn rejects_invalid_parameters() {
    let service = service().await;
    for query in [
        "limit=0",
        "limit=x",
        "before=nonsense",
        "verdikt=1",
        "batch=1",
        "outcome=GRADED",
        "score_min=NaN",
    ] {
        assert_eq!(
            service
                .get(&format!("/v1/grades?{query}"))
                .await
                .refusal()
                .1,
            "invalid_parameter",
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_stored_grade_contains_its_inputs() {
    let (service, results) = service_with_grades().await;
    let id = results[1]["grade"].as_str().unwrap();
    let grade = service.get(&format!("/v1/grades/{id}")).await.json();
    assert_eq!(grade["completion"], "\\boxed{1}");
    assert_eq!(grade["task"], json!({ "type": "math", "answer": "1" }));
    assert_eq!(grade["evidence"], results[1]["evidence"]);
    let unknown = service.get("/v1/grades/01JD5XW7P9V6F8K4M3N2Q1R0ST").await;
    assert_eq!(unknown.refusal(), (404, "not_found".into(), None));
    for odd in ["x", "%ff"] {
        assert_eq!(
            service.get(&format!("/v1/grades/{odd}")).await.refusal().1,
            "invalid_parameter",
            "{odd}"
        );
    }
}

#[tokio::test]
async fn a_replay_reports_flipped_verdicts() {
    let (service, results) = service_with_grades().await;
    let id = results[0]["grade"].as_str().unwrap();
    let request = http::Request::post(format!("/v1/grades/{id}/replay"))
        .body(axum::body::Body::empty())
        .unwrap();
    let replay = service.send(request).await.json();
    assert_eq!(replay["flipped"], false);
    assert_eq!(
        (&replay["recorded"], &replay["replayed"]["verdict"]),
        (&replay["replayed"], &json!("wrong_answer"))
    );
}

#[tokio::test]
async fn summarises_runs() {
    let (service, _) = service_with_grades().await;
    let runs = service.get("/v1/runs").await.json();
    let run = &runs["runs"][0];
    assert_eq!(
        (&run["run"], &run["grades"], &run["passed"]),
        (&json!("r"), &json!(10), &json!(5))
    );
    assert_eq!(
        (&run["mean_score"], &run["last_step"]),
        (&json!(0.5), &json!(3))
    );
}
