//! Judges and rubrics over HTTP.

use assay_external::scripted::ScriptedJudge;
use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, service_with};

/// A service with the judges of `assay_tests::judges`, and their server.
async fn judged() -> (Service, ScriptedJudge) {
    let (judge, judges) = assay_tests::judges::start().await.unwrap();
    let service = service_with(|config| {
        config.judges = judges;
        config.channels.refresh_seconds = 0.0;
    })
    .await;
    (service, judge)
}

fn asked(judge: &str, completion: &str) -> Value {
    let task = json!({ "type": "external", "judge": judge, "threshold": 0.7 });
    json!({ "prompt": "What now?", "completion": completion, "task": task })
}

#[tokio::test]
async fn a_judge_grades_and_its_failure_is_no_score() {
    let (service, _judge) = judged().await;
    let items = [
        asked("helpful", "Restart it."),
        asked("helpful", "down"),
        asked("safe", "odd"),
    ];
    let reply = service.grade(&batch(items)).await.json();
    let [good, down, odd] = [0, 1, 2].map(|at| &reply["results"][at]);
    assert_eq!(
        (&good["verdict"], &good["reward"]),
        (&json!("correct"), &json!(1.0))
    );
    assert_eq!(good["channel"], "external/helpful");
    assert_eq!(
        (&good["deterministic"], &good["cached"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(good["evidence"]["judges"][0]["model"], "scripted-1");
    assert_eq!(good["measures"]["judge_calls"], 1.0);
    for failed in [down, odd] {
        assert_eq!(
            (&failed["outcome"], &failed["score"]),
            (&json!("failed"), &Value::Null)
        );
        assert_eq!(failed["error"]["code"], "judge_failed");
        assert_eq!(
            (&failed["reward"], &failed["error"]["retryable"]),
            (&Value::Null, &json!(true))
        );
    }
    let grade = good["grade"].as_str().unwrap();
    let stored = service.get(&format!("/v1/grades/{grade}")).await.json();
    assert_eq!(stored["evidence"], good["evidence"]);
    let page = service.get(&format!("/ui/grades/{grade}")).await;
    assert!(page.status == 200 && page.text().contains("scripted-1"));
}

#[tokio::test]
async fn a_request_cannot_configure_a_judge() {
    let (service, _judge) = judged().await;
    let mut unknown = asked("helpfull", "a");
    let refusal = service.grade(&batch([unknown.clone()])).await;
    assert!(refusal.text().contains("`helpful`"), "{}", refusal.text());
    assert_eq!(refusal.refusal().2.as_deref(), Some("/items/0/task/judge"));
    unknown["task"] = json!({ "type": "external", "judge": "helpful", "url": "http://a" });
    let refusal = service.grade(&batch([unknown])).await.refusal();
    assert_eq!(
        (refusal.0, refusal.2.as_deref()),
        (422, Some("/items/0/task/url"))
    );
}

#[tokio::test]
async fn a_replay_calls_no_judge() {
    let (service, judge) = judged().await;
    let reply = service
        .grade(&batch([asked("helpful", "Restart it.")]))
        .await
        .json();
    let grade = reply["results"][0]["grade"].as_str().unwrap();
    let calls = judge.calls();
    let replay = service
        .post(&format!("/v1/grades/{grade}/replay"), &json!({}))
        .await;
    assert_eq!(replay.refusal().1, "not_found");
    assert!(replay.text().contains("--judges"), "{}", replay.text());
    assert_eq!(judge.calls(), calls);
}

#[tokio::test]
async fn a_budget_belongs_to_a_run() {
    let (judge, mut judges) = assay_tests::judges::start().await.unwrap();
    let helpful = judges.get_mut("helpful").unwrap();
    (helpful.call_price, helpful.cost_per_run, helpful.in_flight) = (1.0, 2.0, 1);
    let service = service_with(|config| config.judges = judges).await;
    let graded = |reply: &Value| {
        let results = reply["results"].as_array().unwrap().iter();
        results
            .filter(|result| result["outcome"] == "graded")
            .count()
    };
    let items = || (0..5).map(|at| asked("helpful", &format!("answer {at}")));
    let mut request = batch(items());
    request["run"] = json!("a");
    let reply = service.grade(&request).await.json();
    assert_eq!((graded(&reply), judge.calls()), (2, 2));
    let codes: Vec<&Value> = reply["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| &result["error"]["code"])
        .filter(|code| !code.is_null())
        .collect();
    assert_eq!(codes, ["judge_budget"; 3]);
    request["run"] = json!("b");
    assert_eq!(graded(&service.grade(&request).await.json()), 2);
}

#[tokio::test]
async fn an_untrusted_judge_informs_but_does_not_reward() {
    let (service, _judge) = judged().await;
    let mut request = batch([
        asked("helpful", "Restart it."),
        asked("safe", "Restart it."),
    ]);
    request["policy"] =
        json!({ "trust": [{ "channels": ["external/helpful"], "precision": 0.6 }] });
    let reply = service.grade(&request).await.json();
    let [untrusted, other] = [0, 1].map(|at| reply["results"][at].clone());
    assert_eq!(
        (&untrusted["verdict"], &untrusted["score"]),
        (&json!("correct"), &json!(1.0))
    );
    assert_eq!(
        (&untrusted["reward"], &untrusted["advantage"]),
        (&Value::Null, &Value::Null)
    );
    let missing = untrusted["reward_breakdown"]["missing"].as_str().unwrap();
    assert!(missing.contains("is unknown"), "{missing}");
    assert_eq!(other["reward"], 1.0);

    let calibration = json!({
        "channel": "external/helpful", "version": 1, "method": "labels",
        "right": 200, "right_rejected": 10, "wrong": 200, "wrong_passed": 10,
    });
    assert_eq!(
        service
            .post("/v1/channels/calibrations", &calibration)
            .await
            .status,
        200
    );
    // The share of items that are right follows from the passes of the channel.
    let items = (0..40).map(|at| {
        let text = if at % 2 == 0 {
            "Restart it."
        } else {
            "That is rude."
        };
        asked("helpful", &format!("{text} {at}"))
    });
    let mut request = batch(items);
    request["policy"] = json!({ "trust": [{ "channels": ["external/*"], "precision": 0.6 }] });
    service.grade(&request).await;
    let reply = service.grade(&request).await.json();
    assert_eq!(
        reply["results"][0]["reward"], 1.0,
        "{}",
        reply["results"][0]
    );
    request["policy"]["trust"][0]["precision"] = json!(0.99);
    let reply = service.grade(&request).await.json();
    let missing = reply["results"][0]["reward_breakdown"]["missing"]
        .as_str()
        .unwrap();
    assert!(missing.contains("below the required 0.99"), "{missing}");
}

#[tokio::test]
async fn a_rule_decides_appeals_from_a_judge() {
    let (service, _judge) = judged().await;
    let mut item = asked("helpful", "Restart it.");
    item["id"] = json!("1");
    item["policy"] = json!({
        "trust": [{ "channels": ["external/*"], "precision": 0.9 }],
        "appeals": [{
            "judge": { "type": "text", "answer": "unplug", "match": "contains" },
            "channels": ["external/*"], "positives": 1.0, "overturn": true,
        }],
    });
    let reply = service.grade(&batch([item.clone()])).await.json();
    let result = &reply["results"][0];
    assert_eq!(
        (&result["score"], &result["score_after_appeal"]),
        (&json!(1.0), &json!(0.0))
    );
    assert_eq!(
        result["reward"], 0.0,
        "the rule decided, so there is a reward"
    );

    item["task"] = json!({ "type": "text", "answer": "unplug", "match": "contains" });
    item["policy"] = json!({ "appeals": [{
        "judge": { "type": "external", "judge": "safe" }, "negatives": 1.0,
    }] });
    let reply = service.grade(&batch([item])).await.json();
    assert_eq!(reply["results"][0]["appeal"]["judge"], "external/safe@1");
}

/// Ten criteria over five graders, with a veto, a gate, saturation and a fault.
fn rubric() -> Value {
    let contains = |text: &str| json!({ "type": "text", "answer": text, "match": "contains" });
    let criterion = |name: &str, task: Value, points: f64| json!({ "name": name, "task": task, "points": points });
    let mut criteria = vec![
        criterion("boxed", contains("boxed"), 1.0),
        criterion("right", json!({ "type": "math", "answer": "4" }), 4.0),
        criterion(
            "json",
            json!({ "type": "structured", "format": "json" }),
            1.0,
        ),
        criterion("names unit", contains("apples"), 1.0),
        criterion("thanks", contains("thank"), 1.0),
        criterion("safe", json!({ "type": "external", "judge": "safe" }), 2.0),
        criterion(
            "helpful",
            json!({ "type": "external", "judge": "helpful" }),
            2.0,
        ),
        criterion("shouts", contains("!!"), -2.0),
        criterion(
            "words",
            json!({ "type": "text", "answer": ".", "match": "pattern", "words": { "max": 50 } }),
            0.0,
        ),
        criterion(
            "colours",
            json!({
                "type": "rubric", "combine": { "at_least": 2 },
                "criteria": [
                    criterion("red", contains("red"), 1.0),
                    criterion("green", contains("green"), 1.0),
                    criterion("blue", contains("blue"), 1.0),
                ],
            }),
            1.0,
        ),
    ];
    criteria[0]["gate"] = json!(true);
    criteria[8]["veto"] = json!(true);
    for criterion in &mut criteria[1..10] {
        criterion["stage"] = json!(1);
    }
    json!({ "type": "rubric", "saturation": 1.0, "threshold": 0.5, "criteria": criteria })
}

#[tokio::test]
async fn a_rubric_of_ten_criteria_adds_up() {
    let (service, judge) = judged().await;
    // 12 words: `helpful` is (10 - 2) / 10.
    let completion = "There are \\boxed{4} red apples !! and none of them is ripe";
    let item = json!({ "completion": completion, "task": rubric() });
    let reply = service.grade(&batch([item])).await.json();
    let result = &reply["results"][0];
    // Positive points: 1 + 4 + 1 + 1 + 1 + 2 + 2 + 1 = 13. Met: boxed 1, right 4, unit 1, safe 2,
    // helpful 2 g(0.8) with g(s) = 2 s / (1 + s), colours g(1/2) = 2/3, less 2 for shouting.
    let expected = (1.0 + 4.0 + 1.0 + 2.0 + 2.0 * (1.6 / 1.8) + 2.0 / 3.0 - 2.0) / 13.0;
    let score = result["score"].as_f64().unwrap();
    assert!(
        (score - expected).abs() < 1e-12,
        "{score} instead of {expected}: {result}"
    );
    assert_eq!((&result["verdict"], judge.calls()), (&json!("correct"), 2));
    assert_eq!(result["components"].as_array().unwrap().len(), 10);
    assert_eq!(result["measures"]["criteria_graded"], 10.0);
    let details = &result["evidence"]["details"];
    assert_eq!(details["safe"]["judges"][0]["label"], "yes");
    assert_eq!(details["colours"]["criteria"][0]["met"], true);
    let page = service
        .get(&format!("/ui/grades/{}", result["grade"].as_str().unwrap()))
        .await;
    assert!(page.text().contains("names unit"));

    // The gate is closed: no judge is called, and the veto applies.
    let item = json!({ "completion": "4 red apples", "task": rubric() });
    let reply = service.grade(&batch([item])).await.json();
    assert_eq!(
        (&reply["results"][0]["verdict"], judge.calls()),
        (&json!("vetoed"), 2)
    );
}
