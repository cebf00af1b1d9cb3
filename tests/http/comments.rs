//! Comments and labels on grades, over HTTP and on pages.

use assay_access::Key;
use assay_record::access::{Quotas, Role};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http::access::{Keyed, one};
use crate::http::pages::{location, send, text, with_run};

async fn comment(keyed: &Keyed, key: &Key, grade: &str, body: &Value) -> (StatusCode, Value) {
    let path = format!("/v1/grades/{grade}/comments");
    let got = keyed.send(key, Method::POST, &path, body).await;
    (got.status, got.json())
}

#[tokio::test]
async fn operators_comment_on_grades_and_list_them_by_label() {
    let keyed = Keyed::start().await;
    let (operator, trainer) = (keyed.key(Role::Operator), keyed.key(Role::Trainer));
    let other = keyed
        .create("other", Role::Operator, Quotas::default())
        .await;
    let reply = keyed.grade(trainer, &one("1")).await.json();
    let grade = reply["results"][0]["grade"].as_str().unwrap();
    let body = json!({ "text": "odd\n<b>", "labels": ["unclear", "gold.wrong", "unclear"] });
    let (status, stored) = comment(&keyed, operator, grade, &body).await;
    assert_eq!(status, StatusCode::OK, "{stored}");
    assert_eq!(stored["labels"], json!(["gold.wrong", "unclear"]));
    assert_eq!(stored["caller"], "operator");
    let (status, labelled) =
        comment(&keyed, &other, grade, &json!({ "labels": ["unclear"] })).await;
    assert_eq!(status, StatusCode::OK, "{labelled}");

    // The author of the grade sees them.
    let path = format!("/v1/grades/{grade}");
    let comments = keyed.get(trainer, &path).await.json()["comments"].clone();
    assert_eq!(comments, json!([stored, labelled]));
    for (label, count) in [("unclear", 1), ("gold.wrong", 1), ("none", 0)] {
        let list = format!("/v1/grades?run=trainer:r&label={label}");
        let list = keyed.get(operator, &list).await.json();
        assert_eq!(list["grades"].as_array().unwrap().len(), count, "{label}");
    }
    let page = keyed.get(operator, &format!("/ui/grades/{grade}")).await;
    let page = String::from_utf8_lossy(&page.bytes).into_owned();
    assert!(page.contains("odd\n&#60;b&#62;</bdi>"), "{page}");
    assert!(page.contains("href=\"/ui/grades?label=gold.wrong\""));
    assert_eq!(
        page.matches("/delete\"").count(),
        1,
        "one's own can be deleted"
    );

    let path = |comment: &Value| format!("{path}/comments/{}", comment["id"].as_str().unwrap());
    let delete = async |key: &Key, comment: &Value| {
        let path = path(comment);
        let got = keyed.send(key, Method::DELETE, &path, &Value::Null).await;
        got.status
    };
    assert_eq!(delete(operator, &labelled).await, StatusCode::FORBIDDEN);
    assert_eq!(delete(operator, &stored).await, StatusCode::NO_CONTENT);
    assert_eq!(delete(operator, &stored).await, StatusCode::NOT_FOUND);
    let left = keyed.get(operator, &format!("/v1/grades/{grade}")).await;
    assert_eq!(left.json()["comments"], json!([labelled]));
    let log = keyed.get(operator, "/v1/audit?limit=2").await.json();
    let acts = log["entries"].as_array().unwrap().iter();
    let acts: Vec<_> = acts
        .map(|entry| (&entry["action"], &entry["target"]))
        .collect();
    let target = json!(grade);
    assert_eq!(
        acts,
        [
            (&json!("grade.delete-comment"), &target),
            (&json!("grade.comment"), &target)
        ]
    );
}

#[tokio::test]
async fn rejects_invalid_comments_and_a_hundred_and_first() {
    let keyed = Keyed::start().await;
    let (operator, trainer) = (keyed.key(Role::Operator), keyed.key(Role::Trainer));
    let reply = keyed.grade(trainer, &one("1")).await.json();
    let grade = reply["results"][0]["grade"].as_str().unwrap();
    let labels: Vec<String> = (0..9).map(|n| format!("l{n}")).collect();
    for (body, pointer) in [
        (json!({}), "/text"),
        (json!({ "text": "  " }), "/text"),
        (json!({ "text": "x".repeat(4_097) }), "/text"),
        (json!({ "labels": ["Gold"] }), "/labels"),
        (json!({ "labels": ["x".repeat(65)] }), "/labels"),
        (json!({ "labels": labels }), "/labels"),
    ] {
        let (status, problem) = comment(&keyed, operator, grade, &body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        assert_eq!(problem["error"]["pointer"], pointer, "{problem}");
    }
    let refused = comment(&keyed, trainer, grade, &json!({ "text": "x" })).await;
    assert_eq!(refused.0, StatusCode::FORBIDDEN);
    let nobody = "01JD5XW7P9V6F8K4M3N2Q1R0ST";
    let missing = comment(&keyed, operator, nobody, &json!({ "text": "x" })).await;
    assert_eq!(missing.0, StatusCode::NOT_FOUND);
    for n in 0..100 {
        let text = json!({ "text": format!("{n}") });
        assert_eq!(
            comment(&keyed, operator, grade, &text).await.0,
            StatusCode::OK
        );
    }
    let (status, problem) = comment(&keyed, operator, grade, &json!({ "text": "x" })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let message = problem["error"]["message"].as_str().unwrap();
    assert!(message.contains("100 comments"), "{message}");
}

#[tokio::test]
async fn a_comment_is_written_and_deleted_on_the_page() {
    let (service, ids) = with_run("r").await;
    let path = format!("/ui/grades/{}", ids[7]);
    let form = "text=look&labels=gold-wrong%2C+unclear";
    let reply = send(&service, &format!("{path}/comments?run=r"), form, &[]).await;
    assert_eq!(location(&reply), format!("{path}?run=r#comments"));
    let page = text(&service, &format!("{path}?run=r")).await;
    for part in [
        "<a class=\"badge\" href=\"/ui/grades?label=unclear\">unclear</a>",
        "look</bdi>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let list = text(&service, "/ui/grades?label=gold-wrong").await;
    assert_eq!(list.matches("<tr class=\"row\">").count(), 1);
    assert!(list.contains("1 comment</span>"), "{list}");
    let (_, delete) = page.split_once("action=\"").unwrap();
    let delete = delete
        .split("action=\"")
        .find(|action| action.contains("/delete"))
        .unwrap();
    let delete = delete.split('"').next().unwrap();
    let reply = send(&service, delete, "", &[]).await;
    assert_eq!(location(&reply), format!("{path}?run=r#comments"));
    let list = text(&service, "/ui/grades?label=gold-wrong").await;
    assert!(list.contains("No grade matches the filter."), "{list}");
    let refused = send(&service, &format!("{path}/comments"), "labels=A", &[]).await;
    assert_eq!(refused.status, 400);
}
