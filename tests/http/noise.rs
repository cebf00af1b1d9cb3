//! Channels, appeals, policies and prompts over HTTP.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, batch, item, service, service_with};

async fn post(service: &Service, path: &str, body: &Value) -> Got {
    service
        .send(
            Request::post(path)
                .body(Body::from(body.to_string()))
                .unwrap(),
        )
        .await
}

/// An answer of 3/8 for a grader that is configured to reject fractions.
fn handicapped(at: usize, answer: &str) -> Value {
    let mut item = item("3/8", &format!("\\boxed{{{answer}}}"));
    item["id"] = json!(format!("i{at}"));
    item["group"] = json!("p");
    item["task"]["form"] = json!("decimal");
    item
}

pub(crate) fn answers(fractions: usize, decimals: usize, wrong: usize) -> Value {
    let texts = [
        ("\\frac{3}{8}", fractions),
        ("0.375", decimals),
        ("0.5", wrong),
    ];
    let texts = texts
        .iter()
        .flat_map(|(text, times)| std::iter::repeat_n(*text, *times));
    batch(texts.enumerate().map(|(at, text)| handicapped(at, text)))
}

pub(crate) fn appealed(mut batch: Value, share: f64) -> Value {
    batch["policy"] = json!({ "appeals": [{
        "judge": { "type": "math", "answer": "{{ task.answer }}" },
        "negatives": share, "positives": share, "overturn": true, "specificity": 0.99,
    }] });
    batch
}

/// A service that reloads its channels before each batch.
pub(crate) async fn attentive() -> Service {
    service_with(|config| config.channels.refresh_seconds = 0.0).await
}

#[tokio::test]
async fn appeals_detect_and_overturn_a_handicapped_grader() {
    let service = attentive().await;
    // A third of the correct answers is rejected: 40 of 120 in each batch of 180.
    let first = service
        .grade(&appealed(answers(40, 80, 60), 0.5))
        .await
        .json();
    assert!(
        first["channels"][0]["uncorrected"]
            .as_str()
            .unwrap()
            .contains("unknown")
    );
    let mut again = appealed(answers(40, 80, 60), 0.5);
    again["step"] = json!(2);
    let second = service.grade(&again).await.json();
    let overturned = |reply: &Value| {
        let results = reply["results"].as_array().unwrap().clone();
        results
            .into_iter()
            .filter(|result| result["appeal"]["overturned"] == true)
            .collect::<Vec<_>>()
    };
    assert!(overturned(&first).is_empty(), "the channel has no data yet");
    let found = overturned(&second);
    assert!(found.len() > 5, "{}", found.len());
    for result in &found {
        assert_eq!(
            (&result["pass"], &result["score"]),
            (&json!(false), &json!(0.0))
        );
        assert_eq!(
            (&result["score_after_appeal"], &result["reward"]),
            (&json!(1.0), &json!(1.0))
        );
        assert_eq!(result["evidence"]["rule"], "form");
    }
    let channels = service.get("/v1/channels").await.json();
    let channel = &channels["channels"][0];
    let rho1 = &channel["rho1"];
    let holds =
        rho1["low"].as_f64().unwrap() <= 1.0 / 3.0 && 1.0 / 3.0 <= rho1["high"].as_f64().unwrap();
    assert!(holds && rho1["source"] == "measured", "{channel}");
    let listed = service.get("/v1/grades?appeal=overturned").await.json();
    assert_eq!(listed["grades"].as_array().unwrap().len(), found.len());
    assert_eq!(
        service.get("/v1/grades?appeal=lost").await.refusal().1,
        "invalid_parameter"
    );
}

#[tokio::test]
async fn rates_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("stored.db").display());
    let mut seen = Vec::new();
    for _ in 0..2 {
        let service = service_with(|config| config.store.database = database.as_str().into()).await;
        if seen.is_empty() {
            service.grade(&appealed(answers(20, 40, 30), 1.0)).await;
        }
        seen.push(service.get("/v1/channels").await.json());
        service.node.stop().await;
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0]["channels"][0]["checked_negatives"], 50);
}

#[tokio::test]
async fn names_the_invalid_field_of_a_policy() {
    let service = service().await;
    let refused = async |policy: Value| {
        let mut request = answers(0, 1, 1);
        request["policy"] = policy;
        service.grade(&request).await.refusal()
    };
    assert_eq!(
        refused(json!("nobody")).await,
        (422, "unknown_policy".into(), Some("/policy".into()))
    );
    assert_eq!(
        refused(json!(7)).await,
        (422, "invalid_policy".into(), Some("/policy".into()))
    );
    let (_, code, pointer) = refused(json!({ "shap": {} })).await;
    assert_eq!(
        (code.as_str(), pointer.as_deref()),
        ("invalid_policy", Some("/policy/shap"))
    );
    let (_, _, pointer) =
        refused(json!({ "appeals": [{ "judge": { "type": "math" }, "negatives": 3 }] })).await;
    assert_eq!(pointer.as_deref(), Some("/policy/appeals/0/negatives"));
    let mut request = answers(0, 1, 1);
    request["items"][1]["policy"] = json!({ "advantage_estimator": "rloo" });
    assert_eq!(
        service.grade(&request).await.refusal().2.as_deref(),
        Some("/items/1/policy")
    );
}

#[tokio::test]
async fn lists_explains_and_validates_policies() {
    let service = service_with(|config| {
        let table = "summary = \"short\"\n[length.soft_overlong]\nmax = 1000\nbuffer = 200\n"
            .parse()
            .unwrap();
        config.policies.insert("short".to_owned(), table);
    })
    .await;
    let policies = service.get("/v1/policies").await.json();
    let names: Vec<_> = policies["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|policy| policy["name"].clone())
        .collect();
    assert_eq!(names, ["default", "short"]);
    let short = service.get("/v1/policies/short").await.json();
    assert_eq!(short["explained"][0]["function"], "soft_overlong");
    assert_eq!(service.get("/v1/policies/long").await.refusal().0, 404);
    let checked = post(&service, "/v1/policies/check", &short["policy"])
        .await
        .json();
    assert_eq!(checked["hash"], short["hash"], "one meaning has one hash");
    let refused = post(
        &service,
        "/v1/policies/check",
        &json!({ "advantage_estimator": "ppo" }),
    )
    .await
    .refusal();
    assert_eq!((refused.0, refused.1.as_str()), (422, "invalid_policy"));
    let mut request = answers(0, 1, 1);
    request["policy"] = json!("short");
    request["items"][0]["meta"] = json!({ "tokens": 900 });
    request["items"][1]["meta"] = json!({ "tokens": 100 });
    let reply = service.grade(&request).await.json();
    assert_eq!(
        reply["results"][0]["reward"], 0.5,
        "half of the buffer is used"
    );
    let id = reply["results"][0]["grade"].as_str().unwrap();
    let stored = service.get(&format!("/v1/grades/{id}")).await.json();
    assert_eq!(
        (&stored["policy"], &stored["policy_body"]["summary"]),
        (&json!("short"), &json!("short"))
    );
}

#[tokio::test]
async fn a_stream_has_the_rewards_of_the_whole_reply() {
    let service = service().await;
    let mut request = answers(3, 5, 8);
    request["policy"] = json!({ "diversity": { "lambda": 0.5 } });
    let whole = service.grade(&request).await.json();
    let lines = service
        .grade_with(request.to_string(), &[("accept", "application/x-ndjson")])
        .await
        .bytes;
    let text = String::from_utf8(lines.to_vec()).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut streamed: Vec<_> = lines
        .iter()
        .filter(|line| line["type"] == "result")
        .collect();
    streamed.sort_by_key(|line| line["grade"].as_str().unwrap().to_owned());
    let rewards: Vec<_> = streamed.iter().map(|line| line["reward"].clone()).collect();
    let expected: Vec<_> = whole["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["reward"].clone())
        .collect();
    assert_eq!(rewards, expected);
    assert!(
        whole["results"][3]["reward_breakdown"]["terms"]
            .as_array()
            .is_some_and(|terms| !terms.is_empty())
    );
}

#[tokio::test]
async fn every_statistic_is_computed() {
    let service = service().await;
    let mut request = answers(2, 3, 3);
    let names: Vec<_> = assay_rewards::Statistic::ALL
        .iter()
        .map(|statistic| statistic.name())
        .collect();
    request["statistics"] = json!(names);
    request["run"] = json!("r");
    let reply = service.grade(&request).await.json();
    let statistics = reply["groups"][0]["statistics"].as_object().unwrap();
    for name in names.iter().filter(|name| **name != "mean") {
        assert!(statistics.contains_key(*name), "{name}");
    }
    request["statistics"] = json!(["median"]);
    assert_eq!(
        service.grade(&request).await.refusal().2.as_deref(),
        Some("/statistics/0")
    );
}

#[tokio::test]
async fn operators_adjudicate_the_drawn_grade() {
    let service = attentive().await;
    service.grade(&answers(4, 4, 8)).await;
    let drawn = post(
        &service,
        "/v1/adjudications/next?channel=math/default&passes=false",
        &Value::Null,
    )
    .await
    .json();
    let grade = drawn["grade"]["grade"].as_str().unwrap().to_owned();
    assert!((drawn["probability"].as_f64().unwrap() - 1.0 / 12.0).abs() < 1e-12);
    assert_eq!(drawn["grade"]["pass"], false);
    let right = drawn["grade"]["completion"]
        .as_str()
        .unwrap()
        .contains("frac");
    let path = format!("/v1/grades/{grade}/adjudicate");
    let stored = post(&service, &path, &json!({ "pass": right, "note": "seen" }))
        .await
        .json();
    assert_eq!(stored["weight"], 1.0);
    let again = post(&service, &path, &json!({ "pass": right }))
        .await
        .json();
    assert_eq!(again["weight"], 1.0);
    let channel = async || service.get("/v1/channels").await.json()["channels"][0].clone();
    let before = channel().await;
    assert_eq!(before["checked_negatives"], 1, "it counts once");
    post(&service, &path, &json!({ "pass": !right })).await;
    let after = channel().await;
    assert_eq!(after["checked_negatives"], 1);
    assert_ne!(
        after["rho1"]["value"], before["rho1"]["value"],
        "the latest adjudication counts"
    );
    let detail = service.get(&format!("/v1/grades/{grade}")).await.json();
    assert_eq!(detail["adjudications"].as_array().unwrap().len(), 3);
    assert_eq!(detail["adjudications"][0]["note"], "seen");

    assert_eq!(
        post(&service, &path, &json!({ "pass": "yes" }))
            .await
            .refusal()
            .2
            .as_deref(),
        Some("/pass")
    );
    let nobody = "/v1/grades/01JD5XW7P9V6F8K4M3N2Q1R0ST/adjudicate";
    assert_eq!(
        post(&service, nobody, &json!({ "pass": true }))
            .await
            .refusal()
            .0,
        404
    );
    let refused = post(&service, "/v1/adjudications/next?side=left", &Value::Null)
        .await
        .refusal();
    assert_eq!(refused.1, "invalid_parameter");
    let none = post(
        &service,
        "/v1/adjudications/next?channel=sql/none",
        &Value::Null,
    )
    .await
    .json();
    assert_eq!(none, json!({ "grade": null, "probability": null }));
}

#[tokio::test]
async fn calibrates_rates_from_labels_and_compares_versions() {
    let service = attentive().await;
    let known = |version: u32, refused: f64| {
        json!({ "channel": "math/default", "version": version, "method": "labels", "right": 100.0,
            "right_rejected": refused, "wrong": 100.0, "wrong_passed": 2.0 })
    };
    post(&service, "/v1/channels/calibrations", &known(2, 10.0)).await;
    post(&service, "/v1/channels/calibrations", &known(9, 40.0)).await;
    let both = service
        .get("/v1/channels/compare?first=math/default@2&second=math/default@9")
        .await
        .json();
    assert!(
        both["rho1"]["differs"] == true && both["rho0"]["differs"] == false,
        "{both}"
    );
    assert_eq!(both["first"]["rho1"]["source"], "calibrated");
    let reply = service.grade(&answers(0, 1, 1)).await.json();
    assert!((reply["channels"][0]["rho1"].as_f64().unwrap() - 0.1).abs() < 1e-12);
    assert!(reply["results"][0]["backward"].is_number());
    let mut odd = known(1, 200.0);
    let refused = post(&service, "/v1/channels/calibrations", &odd)
        .await
        .refusal();
    assert_eq!(refused.2.as_deref(), Some("/right_rejected"));
    odd["right"] = json!(0.0);
    assert_eq!(
        post(&service, "/v1/channels/calibrations", &odd)
            .await
            .refusal()
            .2
            .as_deref(),
        Some("/right")
    );
    for channel in ["math", "math/", "nobody/a", "math/\u{1b}[2J"] {
        let mut odd = known(1, 1.0);
        odd["channel"] = json!(channel);
        let refused = post(&service, "/v1/channels/calibrations", &odd)
            .await
            .refusal();
        assert_eq!(refused.2.as_deref(), Some("/channel"), "{channel}");
    }
    assert_eq!(
        service
            .get("/v1/channels/compare?first=a&second=b")
            .await
            .refusal()
            .0,
        404
    );
}

#[tokio::test]
async fn suggests_prompts_from_their_history() {
    let service = service().await;
    for (step, right) in [(1, 4), (2, 5)] {
        let mut request = answers(0, right, 8 - right);
        request["run"] = json!("r");
        request["step"] = json!(step);
        let mut solved = answers(0, 8, 0);
        for (at, item) in solved["items"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .enumerate()
        {
            item["id"] = json!(format!("s{at}"));
            item["group"] = json!("q");
            item["prompt_key"] = json!("solved");
            request["items"].as_array_mut().unwrap().push(item.clone());
        }
        let reply = service.grade(&request).await.json();
        assert_eq!(reply["groups"][1]["prompt_key"], "solved");
    }
    let ask = |more: Value| {
        let mut request =
            json!({ "run": "r", "count": 1, "unvisited": 0, "thompson": false, "seed": 1 });
        request
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        request
    };
    for strategy in ["mopps", "vade", "filter"] {
        let found = post(
            &service,
            "/v1/prompts/suggest",
            &ask(json!({ "strategy": strategy })),
        )
        .await
        .json();
        assert_ne!(
            found["prompts"][0]["prompt_key"], "solved",
            "{strategy}: {found}"
        );
        assert_eq!(found["prompts"][0]["visits"], 2);
    }
    let refused = post(&service, "/v1/prompts/suggest", &ask(json!({ "count": 0 })))
        .await
        .refusal();
    assert_eq!((refused.0, refused.2.as_deref()), (422, Some("/count")));
    let refused = post(
        &service,
        "/v1/prompts/suggest",
        &ask(json!({ "stratgy": "vade" })),
    )
    .await
    .refusal();
    assert_eq!(refused.0, 422);
    let refused = post(
        &service,
        "/v1/prompts/suggest",
        &ask(json!({ "channel": "maths/a" })),
    )
    .await
    .refusal();
    assert_eq!(refused.2.as_deref(), Some("/channel"));
}
