//! Templates and rows in place of tasks.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{batch, service};

fn item(id: &str, completion: &str, task: &Value) -> Value {
    json!({ "id": id, "completion": completion, "task": task })
}

fn gsm8k(answer: &str) -> Value {
    json!({ "template": "gsm8k", "row": { "question": "?", "answer": answer } })
}

#[tokio::test]
async fn makes_tasks_of_rows_and_records_them() {
    let service = service().await;
    let own = json!({ "type": "math", "answer": "42" });
    let mut checked = item("c", r"\boxed{42}", &own);
    checked["checks"] = json!({ "again": gsm8k("#### 41") });
    let request = batch([
        item("a", r"\boxed{42}", &gsm8k("6 * 7\n#### 42")),
        item("b", r"\boxed{41}", &gsm8k("6 * 7\n#### 42")),
        checked,
    ]);
    let reply = service.grade(&request).await.json();
    let verdicts: Vec<_> = reply["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["correct", "wrong_answer", "correct"], "{reply}");
    let again = reply.pointer("/results/2/components/0").unwrap();
    assert_eq!(again["verdict"], "wrong_answer", "{reply}");
    let path = format!(
        "/v1/grades/{}",
        reply["results"][0]["grade"].as_str().unwrap()
    );
    let recorded = service.get(&path).await.json();
    assert_eq!(recorded["task"]["answer"], own["answer"], "{recorded}");
    assert!(recorded["task"].get("template").is_none(), "{recorded}");
    assert_eq!(recorded["meta"], json!({ "template": "gsm8k" }));
    let page = service.get(&path.replace("/v1/grades", "/ui/grades")).await;
    let page = String::from_utf8(page.bytes.to_vec()).unwrap();
    assert!(page.contains("gsm8k"), "{page}");
    let path = format!(
        "/v1/grades/{}",
        reply["results"][2]["grade"].as_str().unwrap()
    );
    let recorded = service.get(&path).await.json();
    let of_checks = json!({ "templates_of_checks": { "again": "gsm8k" } });
    assert_eq!(recorded["meta"], of_checks);
}

#[tokio::test]
async fn sent_facts_are_kept() {
    let service = service().await;
    let mut sent = item("a", r"\boxed{42}", &gsm8k("#### 42"));
    sent["meta"] = json!({ "template": 7 });
    let reply = service.grade(&batch([sent])).await.json();
    let path = format!(
        "/v1/grades/{}",
        reply["results"][0]["grade"].as_str().unwrap()
    );
    let recorded = service.get(&path).await.json();
    assert_eq!(recorded["meta"], json!({ "template": 7 }));
}

#[tokio::test]
async fn duplicate_keys_of_rows_are_rejected() {
    let service = service().await;
    for (row, key) in [
        (r##"{"answer":"a #### 1","answer":"a #### 2"}"##, "answer"),
        (r##"{"answer":"a #### 1","x":[{"y":1,"y":1}]}"##, "y"),
    ] {
        let body = format!(
            r#"{{"items":[{{"completion":"1","task":{{"template":"gsm8k","row":{row}}}}}]}}"#
        );
        let request = Request::post("/v1/grade").header("content-type", "application/json");
        let reply = service.send(request.body(Body::from(body)).unwrap()).await;
        let error = &reply.json()["error"];
        assert_eq!(reply.status, 422);
        assert_eq!(error["pointer"], "/items/0/task/row");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("duplicate key `{key}`")),
            "{message}"
        );
    }
}

#[tokio::test]
async fn errors_name_the_column_and_the_template_that_fits() {
    let service = service().await;
    let row = json!({ "problem": "?", "solution": r"\boxed{2}" });
    let cases = [
        (
            json!({ "template": "gsm9k", "row": {} }),
            "/items/0/task/template",
            "no template `gsm9k`; did you mean `gsm8k`?",
        ),
        (
            json!({ "template": "gsm8k", "row": row }),
            "/items/0/task/row/answer",
            "missing column `answer`, which template `gsm8k` needs; the columns `problem`, \
             `solution` fit template `math`",
        ),
        (
            json!({ "template": "gsm8k", "row": [] }),
            "/items/0/task/row",
            "the row must be an object",
        ),
        (
            json!({ "template": "gsm8k" }),
            "/items/0/task",
            "missing field `row`",
        ),
        (
            json!({ "template": 8, "row": {} }),
            "/items/0/task/template",
            "expected a string",
        ),
        (
            json!({ "template": "reasoning-gym", "row": {
                "answer": " ", "metadata": { "source_dataset": "caesar_cipher" },
            } }),
            "/items/0/task/row",
            "template `reasoning-gym` makes an invalid task from the row: `/task/answer`: a gold \
             is empty",
        ),
        (
            json!({ "template": "swe", "row": { "instance_id": "a", "repo": "b" } }),
            "/items/0/task/row",
            "no task for this row: `a` is graded by the tests of the repository `b`",
        ),
        (
            json!({ "template": "gsm8k", "row": {}, "type": "math" }),
            "/items/0/task/",
            "unknown field",
        ),
    ];
    for (task, pointer, message) in cases {
        let reply = service.grade(&batch([item("a", "1", &task)])).await;
        let body = reply.json();
        assert_eq!(reply.status, 422, "{task}: {body}");
        let error = &body["error"];
        assert_eq!(error["code"], "invalid_task", "{body}");
        let at = error["pointer"].as_str().unwrap();
        assert!(at.starts_with(pointer), "{at} is not {pointer}: {body}");
        assert!(
            error["message"].as_str().unwrap().contains(message),
            "{body}"
        );
    }
}

/// A compressed text of 100 MiB in a small request is decompressed within the limits, and the tasks
/// of a request are limited in total.
#[tokio::test]
async fn compressed_rows_are_bounded() {
    let service = service().await;
    // base64 of zlib of a pickle of one string; most of it is one repeated letter.
    let bomb = bomb();
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    let row = json!({
        "public_test_cases": "[]", "private_test_cases": bomb, "metadata": "{}",
    });
    let task = json!({ "template": "livecodebench", "row": row });
    let reply = service.grade(&batch([item("a", "1", &task)])).await;
    let body = reply.json();
    assert_eq!(reply.status, 422, "{body}");
    assert_eq!(body["error"]["pointer"], "/items/0/task/row", "{body}");
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("has more than 128 MiB uncompressed"),
        "{body}"
    );
}

fn bomb() -> String {
    use std::io::Write;

    use base64::Engine;
    let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let letters = vec![b'a'; 1 << 20];
    for _ in 0..130 {
        writer.write_all(&letters).unwrap();
    }
    base64::engine::general_purpose::STANDARD.encode(writer.finish().unwrap())
}
