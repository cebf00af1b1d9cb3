//! Numbers of more than 64 bits in items: graders and the record keep all of their digits.

use axum::body::Body;
use http::Request;
use serde_json::json;

use crate::http::fixtures::{Service, service};

/// An integer of more than 64 bits. Its neighbour, which is the same float, ends with 2.
const LARGE: &str = "123456789012345678901234567891";

async fn text(service: &Service, path: &str) -> String {
    let got = service.get(path).await;
    assert_eq!(got.status, 200, "{path}");
    String::from_utf8(got.bytes.to_vec()).unwrap()
}

/// A call of an assistant with this argument, in each form in which clients send calls.
fn messages(number: &str) -> [String; 3] {
    let call = format!(r#"{{"name":"f","arguments":{{"n":{number},"x":1.50}}}}"#);
    let input = format!(r#"{{"type":"tool_use","name":"f","input":{{"n":{number},"x":1.50}}}}"#);
    [
        format!(r#"[{{"role":"assistant","content":null,"tool_calls":[{{"function":{call}}}]}}]"#),
        format!(r#"[{{"role":"assistant","function_call":{call}}}]"#),
        format!(r#"[{{"role":"assistant","content":[{input}]}}]"#),
    ]
}

fn request(completion: &str) -> String {
    let task = format!(
        r#"{{"type":"tools","tools":[{{"name":"f","parameters":{{"type":"object",
            "properties":{{"n":{{"type":"integer"}},"x":{{"type":"number"}}}}}}}}],
            "expected":[{{"name":"f","arguments":{{"n":{LARGE},"x":1.5}}}}]}}"#
    );
    let prompt = format!(
        r#"[{{"role":"user","content":[{{"type":"text","text":"?"}},
            {{"type":"data","n":{LARGE}}}],"seed":{LARGE}}}]"#
    );
    let check = format!(r#"{{"type":"structured","expected":{{"n":{LARGE}}}}}"#);
    format!(
        r#"{{"run":"digits","items":[{{"task":{task},"prompt":{prompt},
            "completion":{completion},"meta":{{"seed":{LARGE}}},"checks":{{"c":{check}}}}}]}}"#
    )
}

#[tokio::test]
async fn arguments_of_calls_are_compared_and_stored_with_all_digits() {
    let service = service().await;
    let other = LARGE.replace("91", "92");
    for (number, verdict) in [(LARGE, "correct"), (other.as_str(), "wrong_call")] {
        for completion in messages(number) {
            let got = service.grade_with(request(&completion), &[]).await;
            let result = got.json()["results"][0].clone();
            assert_eq!(result["verdict"], verdict, "{completion}: {result}");

            let grade = result["grade"].as_str().unwrap();
            let detail = text(&service, &format!("/v1/grades/{grade}")).await;
            for (field, count) in [("task", 1), ("prompt", 2), ("meta", 1), ("checks", 1)] {
                let value = field_of(&detail, field);
                assert_eq!(value.matches(LARGE).count(), count, "{field}: {value}");
            }
            let stored = field_of(&detail, "completion");
            assert!(
                stored.contains(&format!(r#"{{"n":{number},"x":1.50}}"#)),
                "{stored}"
            );
            let listed = text(&service, "/v1/grades?run=digits&limit=1").await;
            assert!(
                listed.contains(&format!(r#""meta":{{"seed":{LARGE}}}"#)),
                "{listed}"
            );

            let replay = format!("/v1/grades/{grade}/replay");
            let replayed = service.post(&replay, &json!({})).await.json();
            assert_eq!(
                (&replayed["flipped"], &replayed["replayed"]["verdict"]),
                (&json!(false), &json!(verdict)),
                "{replayed}"
            );
        }
    }
}

/// The JSON text of a field of an object.
fn field_of(object: &str, name: &str) -> String {
    type Fields<'t> = std::collections::HashMap<&'t str, &'t serde_json::value::RawValue>;
    let fields: Fields<'_> = serde_json::from_str(object).unwrap();
    fields[name].get().to_owned()
}

#[tokio::test]
async fn a_drawn_grade_has_all_digits() {
    let service = service().await;
    let [completion, ..] = messages(LARGE);
    let got = service.grade_with(request(&completion), &[]).await;
    assert_eq!(got.json()["results"][0]["verdict"], "correct");
    let drawn = Request::post("/v1/adjudications/next?channel=tools/default")
        .body(Body::empty())
        .unwrap();
    let drawn = service.send(drawn).await;
    let drawn = String::from_utf8(drawn.bytes.to_vec()).unwrap();
    assert!(
        drawn.contains(&format!(r#""n":{LARGE},"x":1.50"#)),
        "{drawn}"
    );
}
