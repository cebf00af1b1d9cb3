//! Logs of interpreter sessions as evidence of grades, with real workers.

use http::StatusCode;
use serde_json::{Value, json};

use crate::http::access::Keyed;
use crate::http::fixtures::{Got, Service, service};
use assay_record::access::Role;
use http::Method;

/// A session with two calls, of which the second fails.
async fn session(service: &Service) -> String {
    let opened = service
        .post("/v1/sessions", &json!({ "language": "python" }))
        .await;
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    for code in ["x = 6 * 7\nx", "x / 0"] {
        let got = service
            .post(&format!("/v1/sessions/{id}/run"), &json!({ "code": code }))
            .await;
        assert_eq!(got.status, StatusCode::OK, "{}", got.text());
    }
    id
}

fn item() -> Value {
    json!({ "completion": "\\boxed{42}", "task": { "type": "math", "answer": "42" } })
}

/// An item with the log of a session, which ran in the same image.
fn with_log(log: &Value) -> Value {
    let mut task = log.clone();
    task["type"] = json!("session");
    let mut item = item();
    item["checks"] = json!({ "session": task });
    item
}

async fn replayed(service: &Service, grade: &Value) -> Value {
    let path = format!("/v1/grades/{}/replay", grade.as_str().unwrap());
    service.post(&path, &json!({})).await.json()
}

#[tokio::test]
async fn the_calls_of_a_session_are_part_of_a_grade() {
    let service = service().await;
    let id = session(&service).await;
    let mut sent = item();
    sent["session"] = json!(id);
    let policy = json!({
        "veto": { "parts": ["session"] },
        "efficiency": { "otc": { "form": "ppo", "max": 4, "measure": "session.calls" } },
    });
    let request = json!({ "run": "r", "items": [sent], "policy": policy });
    let keyed = async || {
        let path = "/v1/grade";
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .header("idempotency-key", "k")
            .body(axum::body::Body::from(request.to_string()));
        service.send(request.unwrap()).await
    };
    let got = keyed().await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text());
    let first = got.text().to_owned();
    let result = got.json()["results"][0].clone();
    let component = &result["components"][0];
    assert_eq!(
        (
            &component["name"],
            &component["grader"],
            &component["verdict"]
        ),
        (&json!("session"), &json!("session@1"), &json!("replayed"))
    );
    assert_eq!(component["evidence"]["session"], json!(id));
    assert_eq!(
        (
            &result["measures"]["session.calls"],
            &result["measures"]["session.failed_calls"]
        ),
        (&json!(2.0), &json!(1.0))
    );
    assert_eq!(
        result["steps"],
        json!([{ "score": 1.0, "masked": false }, { "score": 0.0, "masked": false }])
    );
    let reward = result["reward"].as_f64().unwrap();
    assert!(0.0 < reward && reward < 1.0, "{result}");

    // The record has the log, so that the calls can run again after the session has ended.
    let log = service.get(&format!("/v1/sessions/{id}/log")).await.json();
    let path = format!("/v1/sessions/{id}");
    let request = http::Request::delete(path)
        .body(axum::body::Body::empty())
        .unwrap();
    service.send(request).await;
    assert_eq!(
        keyed().await.text(),
        first,
        "the reply to the key is recorded"
    );
    let grade = &result["grade"];
    let path = format!("/v1/grades/{}", grade.as_str().unwrap());
    let stored = service.get(&path).await.json();
    assert_eq!(stored["checks"]["session"]["calls"], log["calls"]);
    let replay = replayed(&service, grade).await;
    assert_eq!(
        (
            &replay["flipped"],
            &replay["changed_components"],
            &replay["error"]
        ),
        (&json!(false), &json!([]), &Value::Null)
    );
}

#[tokio::test]
async fn a_changed_log_does_not_pass() {
    let service = service().await;
    let id = session(&service).await;
    let mut log = service.get(&format!("/v1/sessions/{id}/log")).await.json();
    log["calls"][1]["outcome"] = json!("ok");
    let request =
        json!({ "items": [with_log(&log)], "policy": { "veto": { "parts": ["session"] } } });
    let result = service.grade(&request).await.json()["results"][0].clone();
    let component = &result["components"][0];
    assert_eq!(
        (
            &component["verdict"],
            &component["score"],
            &result["reward"]
        ),
        (&json!("differs"), &json!(0.0), &json!(0.0)),
        "{result}"
    );
    assert_eq!(component["evidence"]["difference"]["call"], 2);
    assert_eq!(component["evidence"]["difference"]["logged"], "ok");
    assert_eq!(
        (&result["measures"]["session.calls"], &result["steps"]),
        (&json!(2.0), &json!([]))
    );
}

/// Pointer and status of a rejected request.
fn place(got: &Got) -> (StatusCode, String) {
    let pointer = got.json()["error"]["pointer"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (got.status, pointer)
}

#[tokio::test]
async fn items_name_sessions_that_their_caller_has() {
    let service = service().await;
    let mut unknown = item();
    unknown["session"] = json!("01KB0000000000000000000001");
    let got = service.grade(&json!({ "items": [item(), unknown] })).await;
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    assert_eq!(place(&got), (unprocessable, "/items/1/session".to_owned()));
    let id = session(&service).await;
    let log = service.get(&format!("/v1/sessions/{id}/log")).await.json();
    let mut twice = with_log(&log);
    twice["session"] = json!(id);
    let got = service.grade(&json!({ "items": [twice] })).await;
    assert_eq!(place(&got), (unprocessable, "/items/0/session".to_owned()));

    let keyed = Keyed::start().await;
    let (trainer, operator) = (keyed.key(Role::Trainer), keyed.key(Role::Operator));
    let opened = json!({ "language": "python" });
    let post = |key, path, body| keyed.send(key, Method::POST, path, body);
    let opened = post(operator, "/v1/sessions", &opened).await.json();
    let mut others = item();
    others["session"] = opened["id"].clone();
    let request = json!({ "items": [others] });
    let got = post(trainer, "/v1/grade", &request).await;
    assert_eq!(place(&got), (unprocessable, "/items/0/session".to_owned()));
    let got = post(operator, "/v1/grade", &request).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text());
}

#[tokio::test]
async fn a_log_that_is_too_large_costs_only_its_check() {
    let service = service().await;
    let id = session(&service).await;
    let code = json!({ "code": format!("s = '{}'", "\u{1}".repeat(200_000)) });
    for _ in 0..2 {
        let path = format!("/v1/sessions/{id}/run");
        assert_eq!(service.post(&path, &code).await.status, StatusCode::OK);
    }
    let mut sent = item();
    sent["session"] = json!(id);
    let request = json!({ "items": [sent, item()] });
    let reply = service.grade(&request).await.json();
    let results = &reply["results"];
    assert_eq!(
        (&results[0]["verdict"], &results[1]["verdict"]),
        (&json!("correct"), &json!("correct")),
        "{reply}"
    );
    let component = &results[0]["components"][0];
    assert_eq!(component["outcome"], "ungradable");
    let message = component["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("its log has 24"), "{message}");
}

#[tokio::test]
async fn logged_work_does_not_bound_what_a_replay_runs() {
    let service = service().await;
    let opened =
        json!({ "language": "python", "limits": { "seconds": 0.1, "total_seconds": 0.3 } });
    let opened = service.post("/v1/sessions", &opened).await.json();
    let id = opened["id"].as_str().unwrap();
    let call = json!({ "code": "while True: pass" });
    service.post(&format!("/v1/sessions/{id}/run"), &call).await;
    let mut log = service.get(&format!("/v1/sessions/{id}/log")).await.json();
    log["image_hash"] = json!("another");
    log["calls"][0]["work"] = json!(0);
    let calls = (1..=50).map(|number| {
        let mut call = log["calls"][0].clone();
        call["call"] = json!(number);
        call
    });
    log["calls"] = calls.collect();
    let got = service.post("/v1/sessions/replay", &log).await;
    assert_eq!(got.refusal().1, "session_exhausted");
    let reply = service
        .grade(&json!({ "items": [with_log(&log)] }))
        .await
        .json();
    let component = &reply["results"][0]["components"][0];
    assert_eq!(component["outcome"], "ungradable", "{reply}");
}
