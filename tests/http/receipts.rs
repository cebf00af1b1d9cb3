//! Receipts: what they contain, who gets them, and which grades have none.

use assay_core::RawJson;
use assay_review::receipt::{Envelope, RECEIPT, Statement};
use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, item, service, service_with};

async fn grade(service: &Service, item: Value) -> String {
    let reply = service.grade(&batch([item])).await.json();
    reply["results"][0]["grade"].as_str().unwrap().to_owned()
}

async fn statement(service: &Service, grade: &str) -> Statement {
    let got = service.get(&format!("/v1/grades/{grade}/receipt")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let envelope: Envelope = serde_json::from_slice(&got.bytes).unwrap();
    let (payload, keys) = envelope.open(RECEIPT).unwrap();
    let key = service.get("/v1/receipts/key").await.json();
    assert_eq!(key["key"], keys[0].to_string());
    Statement::read(&payload).unwrap()
}

#[tokio::test]
async fn a_receipt_repeats_its_grade_and_names_what_differs() {
    let service = service().await;
    let sent = json!({
        "id": "a", "channel": "slices", "prompt": "How much is left?",
        "completion": "It is \\boxed{3/8}", "meta": { "tokens": 12, "seed": 7 },
        "task": { "type": "math", "answer": "0.375" },
        "checks": { "short": { "type": "text", "answer": "3/8", "match": "contains" } },
    });
    let grade = grade(&service, sent).await;
    let mut statement = statement(&service, &grade).await;
    assert_eq!(statement.grade.to_string(), grade);
    assert_eq!(statement.text("verdict").as_deref(), Some("correct"));
    let item = serde_json::to_value(&statement.item).unwrap();
    assert_eq!(item["meta"], json!({ "tokens": 12, "seed": 7 }));
    assert_eq!(item["channel"], "slices");
    assert_eq!(item["prompt"], "How much is left?");
    assert_eq!(item["checks"]["short"]["answer"], "3/8");
    let review = service.node.review();
    assert!(review.verify(&statement).await.unwrap().is_empty());

    let claimed = json!("wrong_answer");
    statement
        .result
        .insert("verdict".to_owned(), claimed.into());
    statement.result.remove("score");
    let found = review.verify(&statement).await.unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|found| {
            let json = |value: &Option<RawJson>| value.as_ref().map(|json| json.get().to_owned());
            (found.key.as_str(), json(&found.stated), json(&found.now))
        })
        .collect();
    let quoted = |text: &str| Some(format!("\"{text}\""));
    assert_eq!(
        found,
        [
            ("score", None, Some("1.0".to_owned())),
            ("verdict", quoted("wrong_answer"), quoted("correct")),
        ]
    );
}

#[tokio::test]
async fn failed_grades_and_unknown_ones_have_no_receipt() {
    let service = service().await;
    let failed = json!({ "completion": "x", "task": { "type": "panicking" } });
    let failed = grade(&service, failed).await;
    for (grade, reason) in [
        (failed.as_str(), "failed and has no result"),
        ("01J00000000000000000000000", "no grade has the id"),
    ] {
        let got = service.get(&format!("/v1/grades/{grade}/receipt")).await;
        assert_eq!(got.status, 404, "{}", got.text());
        assert!(got.text().contains(reason), "{}", got.text());
    }
}

#[tokio::test]
async fn texts_that_are_not_stored_make_no_receipt() {
    let service = service_with(|config| {
        config.retention.bodies = assay_node::config::StoredBodies::None;
    })
    .await;
    let grade = grade(&service, item("4", "\\boxed{4}")).await;
    let got = service.get(&format!("/v1/grades/{grade}/receipt")).await;
    assert_eq!(got.status, 404);
    assert!(got.text().contains("was not stored"), "{}", got.text());
}

#[tokio::test]
async fn a_node_without_a_place_for_a_key_says_what_to_set() {
    let folder = tempfile::tempdir().unwrap();
    for (key, status) in [("", 404), ("key.pem", 200)] {
        let service = service_with(|config| {
            config.store.database = "sqlite::memory:".to_owned().into();
            if !key.is_empty() {
                config.receipts.key = folder.path().join(key);
            }
        })
        .await;
        let grade = grade(&service, item("4", "\\boxed{4}")).await;
        let got = service.get(&format!("/v1/grades/{grade}/receipt")).await;
        assert_eq!(got.status, status, "{}", got.text());
        if status == 404 {
            assert!(got.text().contains("set `receipts.key`"), "{}", got.text());
        }
    }
    assert!(folder.path().join("key.pem").exists());
}

#[tokio::test]
async fn nothing_is_signed_that_grading_again_changes() {
    let service = service_with(|config| {
        let pattern = toml::Table::from_iter([
            ("pattern".to_owned(), "[a-z]+@[a-z]+".into()),
            ("replacement".to_owned(), "EMAIL".into()),
        ]);
        let pattern = toml::Value::Table(pattern).try_into().unwrap();
        config.redaction.insert("email".to_owned(), pattern);
    })
    .await;
    // The program prints an address that its own text does not contain.
    let program = "```python\nprint('bob' + '@' + 'example')\n```";
    let item = json!({ "completion": program, "task": { "type": "code", "language": "python",
        "tests": [{ "stdin": "", "stdout": "no" }] } });
    let grade = grade(&service, item).await;
    let detail = service.get(&format!("/v1/grades/{grade}")).await.text();
    assert!(
        detail.contains("EMAIL") && !detail.contains("bob@"),
        "{detail}"
    );
    let got = service.get(&format!("/v1/grades/{grade}/receipt")).await;
    assert_eq!(got.status, 404, "{}", got.text());
    assert!(got.text().contains("changes `evidence`"), "{}", got.text());
}

#[tokio::test]
async fn a_completion_with_the_text_of_a_task_is_read_as_text() {
    let service = service().await;
    let task = r#"{"type":"text","answer":"x"}"#;
    let item = json!({ "completion": task, "prompt": task,
        "task": { "type": "text", "answer": "x" } });
    let grade = grade(&service, item).await;
    let detail = service.get(&format!("/v1/grades/{grade}")).await.json();
    assert_eq!(detail["completion"], task);
    assert_eq!(detail["prompt"], task);
    assert_eq!(detail["task"]["answer"], "x");
    assert_eq!(
        statement(&service, &grade).await.text("verdict").as_deref(),
        Some("wrong_answer")
    );
}

#[test]
fn statements_have_one_form() {
    let json = [
        r#"{"assay":"0.1.0","grade":"01J00000000000000000000000","time_us":1,"#,
        r#""item":{"task":{"type":"math"},"completion":"x","meta":{}},"#,
        r#""result":{"verdict":"correct"}}"#,
    ]
    .concat();
    Statement::read(json.as_bytes()).unwrap();
    for (part, other) in [
        (r#""result":{"#, r#""result":{"verdict":"wrong_answer","#),
        (r#""verdict""#, r#""verd\u0069ct""#),
        (r#""time_us":1"#, r#""time_us":1,"more":2"#),
        (r#""meta":{}"#, r#""meta":{"a":1,"a":2}"#),
        (r#":"x""#, r#": "x""#),
    ] {
        let changed = json.replace(part, other);
        assert_ne!(changed, json);
        Statement::read(changed.as_bytes()).unwrap_err();
    }
}
