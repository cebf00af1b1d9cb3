//! Jobs that grade recorded grades again, over HTTP.

use assay_access::KeyChanges;
use assay_node::config::KeyRequirement;
use assay_record::access::{Quotas, Role};
use axum::body::Body;
use http::{Method, Request};
use serde_json::{Value, json};

use crate::http::access::{create_key, send_with_key};
use crate::http::fixtures::{Got, Service, service, service_with};
use crate::http::jobs::{ended, items, results, texts};

async fn replay(service: &Service, query: &str, options: Value) -> Got {
    let request = Request::post(format!("/v1/jobs/replay{query}"))
        .header("content-type", "application/json")
        .body(Body::from(json!({ "options": options }).to_string()));
    service.send(request.unwrap()).await
}

#[tokio::test]
async fn a_replay_counts_what_an_option_changes() {
    let service = service().await;
    service.node.jobs().start().await;
    let mut items: Vec<Value> = (0..700)
        .map(|n| {
            let completion = if n % 7 == 0 { "BLUE" } else { "blue" };
            let task = json!({ "type": "text", "answer": "blue", "match": "normalised" });
            json!({ "id": n.to_string(), "completion": completion, "task": task })
        })
        .collect();
    items.push(json!({
        "id": "other",
        "completion": "\\boxed{1}",
        "task": { "type": "math", "answer": "1" },
    }));
    service.grade(&json!({ "run": "a", "items": items })).await;
    service
        .grade(&json!({ "run": "b", "items": items[..3] }))
        .await;

    let same = replay(&service, "?run=a", json!({})).await;
    assert_eq!(same.status, 200, "{}", same.text());
    let same = same.json();
    assert_eq!(
        (&same["kind"], &same["run"], &same["items"]),
        (&json!("replay"), &json!("a"), &json!(701))
    );
    let id = same["job"].as_str().unwrap().to_owned();
    let done = ended(&service, &id).await;
    assert_eq!(
        (&done["graded"], &done["invalid"]),
        (&json!(701), &json!(0))
    );
    assert_eq!(
        (&done["replay"]["items"], &done["replay"]["flipped"]),
        (&json!(701), &json!(0))
    );

    // Only tasks of `text` have this field.
    let changed = replay(&service, "?run=a", json!({ "match": "exact" }))
        .await
        .json();
    assert_eq!(changed["options"], json!({ "match": "exact" }));
    let id = changed["job"].as_str().unwrap().to_owned();
    let done = ended(&service, &id).await;
    assert_eq!(
        (&done["graded"], &done["passed"], &done["invalid"]),
        (&json!(700), &json!(600), &json!(1))
    );
    let summary = &done["replay"];
    assert_eq!(
        (&summary["items"], &summary["flipped"]),
        (&json!(700), &json!(100))
    );
    let verdicts = json!([
        { "recorded": "correct", "replayed": "correct", "items": 600 },
        { "recorded": "correct", "replayed": "wrong_answer", "items": 100 },
    ]);
    assert_eq!(summary["graders"][0]["verdicts"], verdicts, "{summary}");
    let missing = summary["missing"].as_object().unwrap();
    assert_eq!(missing.values().collect::<Vec<_>>(), [&json!(1)]);

    let (mut lines, mut after) = (Vec::new(), json!(0));
    while !after.is_null() {
        let (part, page) = results(&service, &id, &format!("?after={after}&limit=1")).await;
        lines.extend(part);
        after = page["next"].clone();
    }
    assert_eq!(lines.len(), 701);
    let listed = service.get("/v1/grades?run=a&limit=1000").await.json();
    let listed = listed["grades"].as_array().unwrap();
    assert_eq!(
        texts(&lines, "grade"),
        texts(listed, "grade"),
        "the newest first"
    );
    let math = lines
        .iter()
        .filter(|line| line["error"].is_object())
        .count();
    assert_eq!(math, 1);
    for line in lines.iter().filter(|line| line["error"].is_null()) {
        let flipped = line["replayed"]["verdict"] != line["recorded"]["verdict"];
        assert_eq!(line["flipped"], flipped);
        assert!(line["evidence"].is_null(), "no texts are kept: {line}");
        let alone = format!("/v1/grades/{}/replay", line["grade"].as_str().unwrap());
        if flipped {
            let alone = service.post(&alone, &json!({})).await.json();
            assert_eq!(alone["recorded"], line["recorded"]);
        }
    }
    let metrics = service.get("/metrics").await.text();
    let counted = "assay_job_lines_total{kind=\"replay\",outcome=\"graded\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(counted));
    let lines: u64 = line.unwrap().parse().unwrap();
    assert!(lines >= 1_401, "nodes of the process share them: {lines}");
    let runs = service.get("/v1/runs").await.json();
    let graded: u64 = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["grades"].as_u64().unwrap())
        .sum();
    assert_eq!(graded, 704, "replays are not recorded");
}

#[tokio::test]
async fn a_replay_selects_grades_that_exist_and_accept_its_options() {
    let service = service().await;
    service
        .grade(&json!({ "run": "a", "items": items(4) }))
        .await;
    for (query, options, code) in [
        ("?run=none", json!({}), "empty_batch"),
        (
            "?run=a&verdict=correct_answer",
            json!({}),
            "invalid_parameter",
        ),
        ("?run=a&limit=3", json!({}), "invalid_parameter"),
        ("?run=a", json!({ "anser": 4 }), "invalid_task"),
        (
            "?run=a",
            json!({ "answer": "4".repeat(20_000) }),
            "invalid_field",
        ),
    ] {
        let got = replay(&service, query, options).await;
        let (_, refused, _) = got.refusal();
        assert_eq!(refused, code, "{query}: {}", got.text());
    }
    let jobs = service.get("/v1/jobs").await.json();
    assert_eq!(jobs["jobs"], json!([]));

    let keyed = |options: Value| {
        let request = Request::post("/v1/jobs/replay?run=a")
            .header("idempotency-key", "k")
            .header("content-type", "application/json")
            .body(Body::from(json!({ "options": options }).to_string()));
        service.send(request.unwrap())
    };
    let first = keyed(json!({})).await.json();
    assert_eq!(keyed(json!({})).await.json()["job"], first["job"]);
    let (status, code, _) = keyed(json!({ "form": "decimal" })).await.refusal();
    assert_eq!((status, &*code), (422, "idempotency_mismatch"));
}

#[tokio::test]
async fn callers_replay_their_own_grades() {
    let service = service_with(|config| config.access.keys = KeyRequirement::Required).await;
    service.node.jobs().start().await;
    let mut keys = Vec::new();
    for name in ["alice", "bob"] {
        keys.push(create_key(&service, name, Role::Trainer, Quotas::default()).await);
    }
    for key in &keys {
        let body = json!({ "run": "a", "items": items(8) });
        let got = send_with_key(&service, key, Method::POST, "/v1/grade", &body).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    let none = json!({});
    let path = "/v1/jobs/replay?run=a";
    let got = send_with_key(&service, &keys[0], Method::POST, path, &none).await;
    let job = got.json();
    assert_eq!(
        (&job["run"], &job["items"]),
        (&json!("a"), &json!(8)),
        "{job}"
    );
    let shown = format!("/v1/jobs/{}/results", job["job"].as_str().unwrap());
    let other = send_with_key(&service, &keys[1], Method::GET, &shown, &Value::Null).await;
    assert_eq!(other.status, 404);
}

#[tokio::test]
async fn a_replay_of_all_callers_is_hidden_from_a_lower_role() {
    let service = service_with(|config| config.access.keys = KeyRequirement::Required).await;
    service.node.jobs().start().await;
    let alice = create_key(&service, "alice", Role::Trainer, Quotas::default()).await;
    let olga = create_key(&service, "olga", Role::Operator, Quotas::default()).await;
    let body = json!({ "run": "a", "items": items(8) });
    send_with_key(&service, &alice, Method::POST, "/v1/grade", &body).await;
    let path = "/v1/jobs/replay?run=alice:a";
    let sent = send_with_key(&service, &olga, Method::POST, path, &json!({})).await;
    let sent = sent.json();
    assert_eq!(sent["items"], 8, "{sent}");
    let job = format!("/v1/jobs/{}", sent["job"].as_str().unwrap());
    let get =
        async |path: &str| send_with_key(&service, &olga, Method::GET, path, &Value::Null).await;
    assert_eq!(get(&job).await.status, 200);

    let gate = service.node.gate();
    let (store, clock) = (gate.store().unwrap().clone(), gate.clock().clone());
    let changes = KeyChanges {
        role: Some(Role::Trainer),
        ..KeyChanges::default()
    };
    assay_access::change(store.as_ref(), clock.as_ref(), "test", "olga", changes)
        .await
        .unwrap();
    gate.refresh().await.unwrap();
    for path in [
        job.clone(),
        format!("{job}/results"),
        format!("/ui{}", &job[3..]),
    ] {
        assert_eq!(get(&path).await.status, 404, "{path}");
    }
    assert_eq!(get("/v1/jobs").await.json()["jobs"], json!([]));
}
