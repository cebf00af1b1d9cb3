//! Snapshots of replies, streams and stored grades, byte by byte. Ids and times are replaced, and
//! each member of an object is on a line of its own.

use std::collections::HashMap;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, service};

/// A batch with every outcome, shared and nested results, measures, a policy and a warning.
fn every_shape() -> Value {
    let math = json!({ "type": "math", "answer": "1/3" });
    let text = json!({ "type": "text", "answer": "Rome" });
    let database = json!({
        "schema": "create table pair(name text, size integer)",
        "rows": "insert into pair values ('a', 1), ('b', 2)",
    });
    let sql = json!({
        "type": "sql", "dialect": "sqlite", "database": database,
        "gold": "select name from pair where size > 1",
    });
    let structured = json!({
        "type": "structured", "schema": { "type": "object", "required": ["year"] },
        "expected": { "year": 1789 },
    });
    let tools = json!({
        "type": "tools",
        "tools": [{ "name": "add", "parameters": { "type": "object" } }],
        "expected": [{ "name": "add", "arguments": { "a": 1 } }],
    });
    let messages = json!([
        { "role": "assistant", "content": "The answer is \\boxed{0.5}.", "reasoning_content": "1/3" }
    ]);
    let mut request = batch([
        json!({
            "id": "p1-0", "group": "p1", "prompt": "What is 1/6 + 1/6?",
            "completion": "so it is \\boxed{\\frac{12}{36}}.", "task": math,
            "checks": { "format": { "type": "text", "answer": "boxed", "match": "contains" } },
            "meta": { "tokens": 812, "truncated": false },
        }),
        json!({
            "id": "p1-1", "group": "p1", "prompt": "What is 1/6 + 1/6?",
            "completion": messages, "task": math, "meta": { "tokens": 90 },
            "checks": { "format": { "type": "text", "answer": "fraction", "match": "contains" } },
        }),
        json!({ "id": "p1-2", "group": "p1", "completion": "I do not know", "task": math }),
        json!({ "completion": "Rome", "task": text, "channel": "capitals", "prompt_key": "italy" }),
        json!({ "completion": "```sql\nselect name from pair\n```", "task": sql }),
        json!({ "completion": "{\"year\": 1789}", "task": structured }),
        json!({ "completion": "{\"year\": \"1789\"", "task": structured }),
        json!({
            "completion": "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2}}</tool_call>",
            "task": tools,
        }),
        json!({ "completion": "1", "task": { "type": "math", "answer": "" } }),
        json!({ "completion": "1", "task": { "type": "panicking" } }),
    ]);
    request["run"] = json!("shapes");
    request["step"] = json!(12);
    request["statistics"] = json!(["mean", "passk", "p_hat"]);
    request["policy"] = json!({
        "format": [{ "part": "format", "factor": 0.5 }],
        "length": { "soft_overlong": { "max": 1000, "buffer": 400 } },
    });
    request["unknown"] = json!(1);
    request
}

/// Replaces ids by their order, and times by `T`.
struct Normaliser {
    variable: Regex,
    ids: HashMap<String, usize>,
}

impl Normaliser {
    fn new() -> Self {
        let variable = r#"\b[0-9A-HJKMNP-TV-Z]{26}\b|("(?:queue|grade|time)_us":)\d+"#;
        Self {
            variable: Regex::new(variable).unwrap(),
            ids: HashMap::new(),
        }
    }

    fn apply(&mut self, bytes: &[u8]) -> String {
        let text = std::str::from_utf8(bytes).unwrap();
        let ids = &mut self.ids;
        let replaced = self.variable.replace_all(text, |found: &Captures<'_>| {
            if let Some(key) = found.get(1) {
                return format!("{}T", key.as_str());
            }
            let next = ids.len();
            let order = ids.entry(found[0].to_owned()).or_insert(next);
            format!("ID{order}")
        });
        replaced.replace(",\"", ",\n\"")
    }
}

async fn graded() -> (Service, Normaliser, String) {
    let service = service().await;
    let reply = service.grade(&every_shape()).await;
    assert_eq!(reply.status, 200, "{:?}", reply.bytes);
    let mut normaliser = Normaliser::new();
    let text = normaliser.apply(&reply.bytes);
    (service, normaliser, text)
}

#[tokio::test]
async fn reply_to_a_batch() {
    let (_, _, reply) = graded().await;
    insta::assert_snapshot!(reply);
}

#[tokio::test]
async fn stream_of_a_batch() {
    let service = service().await;
    let body = every_shape().to_string();
    let headers = [("accept", "application/x-ndjson")];
    let reply = service.grade_with(body, &headers).await;
    let text = std::str::from_utf8(&reply.bytes).unwrap();
    assert_eq!(reply.status, 200, "{text}");
    let (mut results, others): (Vec<&str>, Vec<&str>) = text
        .lines()
        .partition(|line| line.starts_with("{\"type\":\"result\""));
    // Results come in the order in which they finish. Ids of grades contain positions.
    let grade = |line: &str| serde_json::from_str::<Value>(line).unwrap()["grade"].to_string();
    results.sort_by_key(|line| grade(line));
    results.extend(others);
    let stream = Normaliser::new().apply(results.join("\n").as_bytes());
    insta::assert_snapshot!(stream);
}

#[tokio::test]
async fn stored_grades() {
    let (service, mut normaliser, _) = graded().await;
    let page = service.get("/v1/grades").await;
    let mut stored = normaliser.apply(&page.bytes);
    for grade in page.json()["grades"].as_array().unwrap() {
        let path = format!("/v1/grades/{}", grade["grade"].as_str().unwrap());
        stored.push('\n');
        stored.push_str(&normaliser.apply(&service.get(&path).await.bytes));
    }
    insta::assert_snapshot!(stored);
}
