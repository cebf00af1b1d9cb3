//! Alerts fire when their cause is made, are shown and sent, and end with it.

use std::iter::repeat_n;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::http::fixtures::{Service, batch, item, service_with};

const MINIMUM: u64 = 20;

/// A node with these rules, which are evaluated when a test says so.
async fn alerting(rules: &[&str], webhook: &str) -> Service {
    service_with(|config| {
        let off = assay_alerts::rules::names().into_iter();
        let off = off.filter(|name| !rules.contains(name));
        config.alerts.off = off.map(str::to_owned).collect();
        config.alerts.minimum_items = MINIMUM;
        config.alerts.webhook = webhook.into();
    })
    .await
}

fn failing() -> Value {
    json!({ "completion": "x", "task": { "type": "panicking" } })
}

/// Grades a step of a run with the items.
async fn step(service: &Service, step: i64, items: impl IntoIterator<Item = Value>) {
    let mut body = batch(items);
    body["run"] = json!("run a");
    body["step"] = json!(step);
    assert_eq!(service.grade(&body).await.status, StatusCode::OK);
}

/// The open problems of a rule.
async fn open(service: &Service, rule: &str) -> Vec<Value> {
    service.node.alerts().evaluate().await;
    let body = service.get("/v1/alerts").await.json();
    let alerts = body["alerts"].as_array().unwrap();
    let of_rule = alerts.iter().filter(|alert| alert["rule"] == rule);
    of_rule.cloned().collect()
}

/// A server that reports what it receives, and fails the first request.
async fn webhook() -> (String, mpsc::UnboundedReceiver<Value>) {
    let (sender, received) = mpsc::unbounded_channel();
    let first = Arc::new(AtomicBool::new(true));
    let receive = move |body: Bytes| {
        let (sender, first) = (sender.clone(), Arc::clone(&first));
        async move {
            if first.swap(false, Ordering::Relaxed) {
                return StatusCode::SERVICE_UNAVAILABLE;
            }
            sender.send(serde_json::from_slice(&body).unwrap()).unwrap();
            StatusCode::NO_CONTENT
        }
    };
    let router = Router::new().route("/hooks/1", post(receive));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hooks/1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, received)
}

#[tokio::test]
async fn failures_fire_are_shown_and_sent_and_end() {
    let (url, mut received) = webhook().await;
    let service = alerting(&["failures"], &url).await;
    step(&service, 1, repeat_n(item("1", "1"), 30)).await;
    assert_eq!(open(&service, "failures").await, [] as [Value; 0]);
    assert!(!service.get("/ui").await.text().contains("Open problems"));

    let planted = repeat_n(failing(), 3).chain(repeat_n(item("1", "1"), 7));
    step(&service, 2, planted).await;
    let alerts = open(&service, "failures").await;
    let [alert] = alerts.as_slice() else {
        panic!("{alerts:?}")
    };
    assert_eq!(
        (&alert["run"], &alert["grades"]),
        (&json!("run a"), &json!(3))
    );
    assert_eq!(
        alert["message"],
        "3 of 40 items failed in the last 10 steps"
    );
    assert!(alert["since_us"].as_i64().unwrap() > 0);
    let link = alert["link"].as_str().unwrap();
    assert_eq!(link, "/ui/grades?run=run+a&outcome=failed&step_min=1");
    assert_eq!(service.get(link).await.status, StatusCode::OK);
    let grades = service.get(&link.replace("/ui/", "/v1/")).await.json();
    assert_eq!(grades["grades"].as_array().unwrap().len(), 3, "{grades}");
    let page = service.get("/ui").await.text();
    let (problems, _) = page.split_once("Recent runs").unwrap();
    assert!(problems.contains("Open problems"), "{page}");
    assert!(problems.contains("3 of 40 items failed"), "{page}");
    assert!(
        problems.contains("href=\"/ui/grades?run=run+a&#38;outcome=failed&#38;step_min=1\""),
        "{page}"
    );
    let sent = received.recv().await.unwrap();
    assert_eq!(sent["status"], "firing");
    assert_eq!(sent["alert"], *alert, "it was sent again after the failure");
    assert_eq!(
        sent["text"],
        "failures of run run a: 3 of 40 items failed in the last 10 steps"
    );

    // Ten steps later the failures are not among the last steps.
    for at in 3..12 {
        step(&service, at, repeat_n(item("1", "1"), 30)).await;
    }
    assert_eq!(
        open(&service, "failures").await.len(),
        1,
        "still in the last ten"
    );
    step(&service, 12, repeat_n(item("1", "1"), 30)).await;
    assert_eq!(open(&service, "failures").await.len(), 1, "it waits once");
    assert_eq!(open(&service, "failures").await, [] as [Value; 0]);
    let sent = received.recv().await.unwrap();
    assert_eq!(sent["status"], "resolved");
    assert_eq!(sent["alert"]["run"], "run a");
    assert!(received.try_recv().is_err(), "each change is sent once");
}

#[tokio::test]
async fn failures_without_a_step_and_truncated_completions_fire() {
    let service = alerting(&["failures", "truncation"], "").await;
    let mut truncated = item("1", "1");
    truncated["meta"] = json!({ "truncated": true });
    let items = repeat_n(failing(), 5).chain(repeat_n(truncated, 10));
    let items = items.chain(repeat_n(item("1", "1"), 10));
    service.grade(&batch(items)).await;
    let failures = open(&service, "failures").await;
    assert_eq!(
        failures[0]["message"],
        "5 of 25 items without a run or step failed"
    );
    assert_eq!(failures[0]["run"], Value::Null);
    let truncation = open(&service, "truncation").await;
    assert_eq!(
        truncation[0]["message"],
        "10 of 25 completions without a run or step were truncated"
    );
}

#[tokio::test]
async fn truncated_completions_of_a_run_fire() {
    let service = alerting(&["truncation"], "").await;
    let mut truncated = item("1", "1");
    truncated["meta"] = json!({ "truncated": true });
    let items = repeat_n(truncated, 10).chain(repeat_n(item("1", "1"), 15));
    step(&service, 1, items).await;
    let alerts = open(&service, "truncation").await;
    let [alert] = alerts.as_slice() else {
        panic!("{alerts:?}")
    };
    assert_eq!(
        (&alert["run"], &alert["grades"]),
        (&json!("run a"), &json!(10))
    );
    assert_eq!(
        alert["message"],
        "10 of 25 completions were truncated in the last 10 steps"
    );
}

#[tokio::test]
async fn channels_with_one_kind_of_verdict_fire_until_the_other_comes() {
    let service = alerting(&["one_sided"], "").await;
    step(&service, 1, repeat_n(item("1", "2"), 30)).await;
    let alerts = open(&service, "one_sided").await;
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0]["channel"], "math/default");
    assert_eq!(alerts[0]["message"], "none of the last 30 items passed");
    step(&service, 2, [item("1", "1")]).await;
    open(&service, "one_sided").await;
    assert_eq!(open(&service, "one_sided").await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_drop_of_the_reward_fires_and_ends_when_it_recovers() {
    let service = alerting(&["reward_drop"], "").await;
    let mut number = 0;
    // Shares of correct answers that vary a little between steps.
    let mut steps = async |count: usize, correct: usize| {
        for _ in 0..count {
            number += 1;
            let correct = correct + (number * 7 % 3);
            let items =
                repeat_n(item("1", "1"), correct).chain(repeat_n(item("1", "2"), 12 - correct));
            step(&service, number.try_into().unwrap(), items).await;
        }
        open(&service, "reward_drop").await
    };
    assert_eq!(steps(25, 8).await, [] as [Value; 0]);
    let alerts = steps(5, 2).await;
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0]["link"], "/ui/grades?run=run+a&step=30");
    assert_eq!(steps(5, 2).await.len(), 1, "it lasts");
    steps(5, 8).await;
    assert_eq!(steps(1, 8).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_dead_webhook_does_not_slow_grading() {
    // It accepts connections and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = alerting(&["failures"], &url).await;
    step(&service, 1, repeat_n(failing(), 30)).await;
    assert_eq!(open(&service, "failures").await.len(), 1);
    let _waiting = listener.accept().await.unwrap();
    // A request to the webhook takes twice as long until it fails.
    let grading = async {
        step(&service, 2, repeat_n(item("1", "1"), 30)).await;
        assert_eq!(open(&service, "failures").await.len(), 1);
    };
    tokio::time::timeout(Duration::from_secs(5), grading)
        .await
        .unwrap();
}

#[tokio::test]
async fn rules_can_be_turned_off() {
    let rules = async |change: fn(&mut assay_node::config::Alerts)| {
        let service = service_with(|config| change(&mut config.alerts)).await;
        let body = service.get("/v1/alerts").await.json();
        let rules = body["rules"].as_array().unwrap().clone();
        rules
            .into_iter()
            .map(|rule| rule["rule"].as_str().unwrap().to_owned())
    };
    let all: Vec<String> = rules(|_| {}).await.collect();
    assert_eq!(all, assay_alerts::rules::names());
    let mut some = rules(|alerts| alerts.off = vec!["drift".to_owned()]).await;
    assert!(some.len() == all.len() - 1 && some.all(|rule| rule != "drift"));
    assert_eq!(rules(|alerts| alerts.seconds = 0).await.len(), 0);
}
