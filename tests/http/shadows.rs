//! Shadows of runs: a share that is graded again as it is recorded, and what is promoted.

use std::time::Duration;

use assay_access::Key;
use assay_record::access::Role;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http::access::Keyed;
use crate::http::fixtures::{Got, Service, service};
use crate::http::jobs::ended;

/// A batch of which every other answer has another case than the gold.
fn batch(run: &str, items: usize) -> Value {
    let item = |n: usize| {
        json!({
            "completion": if n.is_multiple_of(2) { "Paris" } else { "paris" },
            "task": { "type": "text", "answer": "Paris", "match": "exact" },
        })
    };
    json!({ "run": run, "items": (0..items).map(item).collect::<Vec<_>>() })
}

async fn end(service: &Service, path: &str) -> Value {
    let request = http::Request::delete(path).body(axum::body::Body::empty());
    service.send(request.unwrap()).await.json()
}

/// The shadow of a run once it has looked at this many grades.
async fn found(service: &Service, run: &str, items: u64) -> Value {
    for _ in 0..600 {
        let shadow = service.get(&format!("/v1/runs/{run}/shadow")).await.json();
        if shadow["findings"]["replay"]["items"] == json!(items) {
            return shadow;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!(
        "{}",
        service.get(&format!("/v1/runs/{run}/shadow")).await.text()
    );
}

/// What trainers read of the results of a batch.
fn rewards(reply: &Value) -> Vec<Value> {
    let results = reply["results"].as_array().unwrap().iter();
    results
        .map(|result| json!([result["verdict"], result["reward"], result["advantage"]]))
        .collect()
}

const NORMALISED: &str = r#"{ "match": "normalised" }"#;

fn options() -> Value {
    serde_json::from_str(NORMALISED).unwrap()
}

#[tokio::test]
async fn a_shadow_compares_what_is_recorded_and_changes_no_reward() {
    let service = service().await;
    service.node.jobs().start().await;
    let plain = service.grade(&batch("plain", 40)).await.json();
    service.grade(&batch("r", 40)).await;
    let start = json!({ "options": options(), "share": 1.0 });
    let started = service.post("/v1/runs/r/shadow", &start).await;
    assert_eq!(started.status, StatusCode::OK, "{}", started.text());
    assert_eq!(started.json()["findings"]["replay"]["items"], 0);
    // Only what is recorded from now on.
    let shadowed = service.grade(&batch("r", 40)).await.json();
    assert_eq!(rewards(&shadowed), rewards(&plain));
    let shadow = found(&service, "r", 40).await;
    let findings = &shadow["findings"];
    assert_eq!(findings["replay"]["flipped"], 20);
    let expected = json!({ "items": 40, "changed": 20, "recorded_sum": 20.0, "shadow_sum": 40.0 });
    assert_eq!(
        (&findings["scores"], &findings["rewards"]),
        (&expected, &expected)
    );
    assert!(findings["shadow_work"].as_u64().unwrap() > 0);
    let again = service.post("/v1/runs/r/shadow", &start).await;
    assert_eq!(again.refusal().1, "invalid_field");
    let stopped = end(&service, "/v1/runs/r/shadow").await;
    assert!(stopped["ended_us"].is_i64(), "{stopped}");
    service.grade(&batch("r", 10)).await;

    // A shadow of everything has the matrix of a replay of everything.
    let all = json!({ "options": options(), "share": 1.0, "from_start": true });
    service.post("/v1/runs/r/shadow", &all).await;
    let shadow = found(&service, "r", 90).await;
    let job = service
        .post("/v1/jobs/replay?run=r", &json!({ "options": options() }))
        .await
        .json();
    let job = ended(&service, job["job"].as_str().unwrap()).await;
    assert_eq!(shadow["findings"]["replay"], job["replay"]);
}

#[tokio::test]
async fn a_share_is_part_of_the_whole() {
    let service = service().await;
    service.node.jobs().start().await;
    for _ in 0..4 {
        service.grade(&batch("r", 250)).await;
    }
    let start = json!({ "options": options(), "from_start": true });
    service.post("/v1/runs/r/shadow", &start).await;
    // 1,000 grades, of which about a tenth is chosen by their ids. All have been looked at when
    // those that follow were.
    let mut items = 0;
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let shadow = service.get("/v1/runs/r/shadow").await.json();
        let seen = shadow["findings"]["replay"]["items"].as_u64().unwrap();
        if seen > 0 && seen == items {
            break;
        }
        items = seen;
    }
    assert!((60..=140).contains(&items), "{items}");
}

#[tokio::test]
async fn promoted_fields_are_set_in_the_tasks_of_the_run() {
    let service = service().await;
    let start = json!({ "options": options() });
    service.post("/v1/runs/r/shadow", &start).await;
    let path = "/v1/runs/r/shadow/promotion";
    let promoted = service.post(path, &json!({})).await.json();
    assert!(
        promoted["promoted_us"].is_i64() && promoted["ended_us"].is_i64(),
        "{promoted}"
    );
    let verdicts = async |run: &str| {
        let reply = service.grade(&batch(run, 2)).await.json();
        let verdicts = [0, 1].map(|at| reply["results"][at]["verdict"].clone());
        (
            verdicts,
            reply["results"][1]["grade"].as_str().unwrap().to_owned(),
        )
    };
    let (seen, grade) = verdicts("r").await;
    assert_eq!(seen, [json!("correct"), json!("correct")]);
    let stored = service.get(&format!("/v1/grades/{grade}")).await.json();
    assert_eq!(stored["task"]["match"], "normalised");
    assert_eq!(verdicts("other").await.0[1], "wrong_answer");
    // A grader that does not have the field grades as before.
    let math = json!({ "run": "r", "items": [
        { "completion": "\\boxed{2}", "task": { "type": "math", "answer": "2" } },
    ] });
    let reply = service.grade(&math).await.json();
    assert_eq!(reply["results"][0]["verdict"], "correct");
    let withdrawn = end(&service, path).await;
    assert!(withdrawn["withdrawn_us"].is_i64(), "{withdrawn}");
    assert_eq!(verdicts("r").await.0[1], "wrong_answer");
}

/// A page of a key.
async fn page(keyed: &Keyed, key: &Key, path: &str) -> String {
    keyed.get(key, path).await.text()
}

/// Sends a form of the page of the shadow of the run `r`.
async fn send_form(keyed: &Keyed, key: &Key, path: &str, fields: &str) -> Got {
    let request = http::Request::post(path)
        .header("authorization", format!("Bearer {}", key.reveal()))
        .body(format!("name=r{fields}").into());
    keyed.service.send(request.unwrap()).await
}

#[tokio::test]
async fn the_page_compares_and_has_the_forms_that_its_viewer_may_send() {
    let keyed = Keyed::start().await;
    keyed.service.node.jobs().start().await;
    let (trainer, operator) = (keyed.key(Role::Trainer), keyed.key(Role::Operator));
    keyed.grade(operator, &batch("r", 40)).await;
    let address = "/ui/shadow?name=r";
    assert!(
        page(&keyed, operator, "/ui/run?name=r")
            .await
            .contains(address)
    );
    let empty = page(&keyed, operator, address).await;
    assert!(empty.contains("The run has no shadow"), "{empty}");
    let unknown = keyed.get(trainer, address).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND, "of another caller");

    let broken = send_form(&keyed, operator, "/ui/shadow", "&fields=boxed").await;
    assert_eq!(broken.status, StatusCode::BAD_REQUEST);
    let fields = "&fields=%7B%22match%22%3A%22normalised%22%7D&percent=100&from_start=true";
    let started = send_form(&keyed, operator, "/ui/shadow", fields).await;
    assert_eq!(started.status, StatusCode::SEE_OTHER, "{}", started.text());
    assert_eq!(started.headers["location"], address);
    let found = async || {
        for _ in 0..600 {
            let page = page(&keyed, operator, address).await;
            if page.contains("40 grades of the run") {
                return page;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{}", page(&keyed, operator, address).await)
    };
    let shown = found().await;
    for text in [
        "20 flipped",
        "20 (50.0 %)",
        "+0.5",
        "wrong_answer",
        "match=",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(!shown.contains("Start a shadow"), "one is open");

    let promoted = send_form(&keyed, operator, "/ui/shadow/promote", "").await;
    assert_eq!(promoted.status, StatusCode::SEE_OTHER);
    let shown = page(&keyed, operator, address).await;
    assert!(shown.contains("Its fields are set"), "{shown}");
    let graded = keyed.grade(operator, &batch("r", 2)).await.json();
    assert_eq!(graded["results"][1]["verdict"], "correct");
    let refused = send_form(&keyed, trainer, "/ui/shadow/withdraw", "").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let withdrawn = send_form(&keyed, operator, "/ui/shadow/withdraw", "").await;
    assert_eq!(withdrawn.status, StatusCode::SEE_OTHER);
    let shown = page(&keyed, operator, address).await;
    assert!(
        shown.contains("Start a shadow") && !shown.contains("no longer"),
        "{shown}"
    );
}

#[tokio::test]
async fn invalid_shadows_name_the_field() {
    let service = service().await;
    for (request, pointer) in [
        (json!({ "options": {} }), "/options"),
        (json!({ "options": { "type": "math" } }), "/options/type"),
        (json!({ "options": options(), "share": 0.0 }), "/share"),
        (json!({ "options": options(), "share": 1.5 }), "/share"),
    ] {
        let got = service.post("/v1/runs/r/shadow", &request).await;
        assert_eq!(
            got.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{}",
            got.text()
        );
        assert_eq!(got.json()["error"]["pointer"], pointer);
    }
    let got = service.get("/v1/runs/r/shadow").await;
    assert_eq!(got.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn operators_promote_and_the_audit_log_has_it() {
    let keyed = Keyed::start().await;
    let (trainer, operator) = (keyed.key(Role::Trainer), keyed.key(Role::Operator));
    let path = "/v1/runs/r/shadow";
    let start = json!({ "options": options() });
    let started = keyed.send(trainer, Method::POST, path, &start).await;
    assert_eq!(started.status, StatusCode::OK, "{}", started.text());
    let promotion = format!("{path}/promotion");
    let got = keyed
        .send(trainer, Method::POST, &promotion, &json!({}))
        .await;
    assert_eq!(got.status, StatusCode::FORBIDDEN);
    // The run of the trainer has its name in front for others.
    let own = "/v1/runs/trainer:r/shadow/promotion";
    let got = keyed.send(operator, Method::POST, own, &json!({})).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text());
    let audit = keyed.get(operator, "/v1/audit?limit=1").await.json();
    let entry = &audit["entries"][0];
    assert_eq!(entry["action"], "shadow.promote", "{audit}");
}
