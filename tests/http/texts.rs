//! Snapshots of the texts that users read: bodies of errors, and headings and labels of pages. A
//! changed word is seen in review.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, item, service};
use crate::http::pages::{text, with_run};

/// A valid request of one item, with the value at a JSON pointer replaced or added.
fn changed(pointer: &str, value: Value) -> String {
    let mut request = batch([item("1/2", "\\boxed{0.5}")]);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    request.pointer_mut(parent).unwrap()[key] = value;
    request.to_string()
}

fn task(task: Value) -> String {
    changed("/items/0/task", task)
}

/// Status and error of the reply or of its only result, on one line.
async fn reply(service: &Service, method: &str, path: &str, body: &str) -> String {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()))
        .unwrap();
    let got = service.send(request).await;
    let body = got.json();
    let error = body.pointer("/results/0/error").unwrap_or(&body["error"]);
    format!("{} {error}", got.status.as_u16())
}

#[tokio::test]
async fn bodies_of_errors_are_reviewed() {
    let service = service().await;
    let bodies = [
        ("malformed JSON", "{\"items\": [".to_owned()),
        ("no items", "{\"items\": []}".to_owned()),
        ("wrong type", changed("/step", json!("twelve"))),
        (
            "completion of another type",
            changed("/items/0/completion", json!(7)),
        ),
        (
            "unknown grader",
            task(json!({ "type": "maths", "answer": "1" })),
        ),
        (
            "unknown field of a task",
            task(json!({ "type": "math", "anwser": "1" })),
        ),
        ("missing field of a task", task(json!({ "type": "math" }))),
        (
            "tolerance out of range",
            task(json!({ "type": "math", "answer": "1", "tolerance": { "relative": -1 } })),
        ),
        (
            "unknown language",
            task(json!({ "type": "code", "language": "cobol", "tests": [{ "stdin": "" }] })),
        ),
        (
            "no tests",
            task(json!({ "type": "code", "language": "python", "tests": [] })),
        ),
        (
            "unknown dialect",
            task(json!({ "type": "sql", "dialect": "oracle", "gold": "select 1" })),
        ),
        (
            "unsupported schema",
            task(json!({ "type": "structured", "schema": { "type": "text" } })),
        ),
        (
            "unknown reward model",
            task(json!({ "type": "reward_model", "model": "judge" })),
        ),
        ("unknown policy", changed("/policy", json!("mine"))),
        ("unknown statistic", changed("/statistics", json!(["mode"]))),
        ("empty run name", changed("/run", json!(""))),
    ];
    let mut replies = String::new();
    for (case, body) in bodies {
        let reply = reply(&service, "POST", "/v1/grade", &body).await;
        assert!(!reply.ends_with("null"), "{case}: {reply}");
        replies.push_str(&format!("{case}\n    {reply}\n"));
    }
    let requests = [
        ("GET", "/v1/nowhere", ""),
        ("GET", "/v1/grade", ""),
        ("GET", "/v1/grades/x", ""),
        ("GET", "/v1/grades/01J00000000000000000000000", ""),
        ("GET", "/v1/grades?limit=0", ""),
        ("GET", "/v1/grades?limit=abc", ""),
        ("GET", "/v1/grades?score_min=high", ""),
        ("GET", "/v1/grades?lmit=5", ""),
        ("GET", "/v1/runs/nothing?steps=-1", ""),
        ("GET", "/v1/channels/compare?first=math/default", ""),
        ("POST", "/v1/adjudications/next?passes=yes", ""),
        ("GET", "/v1/grades?outcome=good", ""),
        ("GET", "/v1/runs/nothing", ""),
        ("POST", "/v1/grades/01J00000000000000000000000/replay", "{}"),
        (
            "POST",
            "/v1/grades/01J00000000000000000000000/adjudicate",
            "{}",
        ),
        ("POST", "/v1/reward-models/judge/score", "{\"inputs\": []}"),
    ];
    for (method, path, body) in requests {
        let reply = reply(&service, method, path, body).await;
        assert!(!reply.ends_with("null"), "{path}: {reply}");
        replies.push_str(&format!("{method} {path}\n    {reply}\n"));
    }
    insta::assert_snapshot!("bodies_of_errors", replies);
}

/// The elements that name parts of a page.
const LABELS: [&str; 8] = [
    "h1", "h2", "h3", "th", "label", "legend", "button", "summary",
];

/// The texts of these elements, one on a line.
fn labels(page: &str) -> String {
    let mut found = String::new();
    let mut open: Option<(&str, String)> = None;
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split_whitespace().next().unwrap_or_default();
        if let Some((element, content)) = &mut open {
            if name.strip_prefix('/') == Some(*element) || name == "select" {
                let content: Vec<_> = content.split_whitespace().collect();
                found.push_str(&format!("    {element} {}\n", content.join(" ")));
                open = None;
            } else {
                content.push_str(text);
            }
        } else if LABELS.contains(&name) {
            open = Some((name, text.to_owned()));
        }
    }
    found
}

#[tokio::test]
async fn labels_of_pages_are_reviewed() {
    let (service, ids) = with_run("run").await;
    let grade = format!("/ui/grades/{}", ids[7]);
    let pages = [
        ("start", "/ui"),
        ("runs", "/ui/runs"),
        ("run", "/ui/run?name=run"),
        ("prompts", "/ui/prompts?run=run"),
        ("grades", "/ui/grades"),
        ("grade", &grade),
        ("queue", "/ui/queue"),
        ("channels", "/ui/channels"),
        ("channel", "/ui/channel?name=math%2Fdefault"),
        ("disagreements", "/ui/disagreements"),
        ("suspects", "/ui/suspects"),
        ("checks", "/ui/checks"),
    ];
    let mut listed = String::new();
    for (name, path) in pages {
        let labels = labels(&text(&service, path).await);
        assert!(labels.contains("h1"), "{path} has a heading");
        listed.push_str(&format!("{name}\n{labels}"));
    }
    insta::assert_snapshot!("labels_of_pages", listed.replace(&ids[7], "ID"));
}
