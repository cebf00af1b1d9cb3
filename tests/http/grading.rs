//! Batches in, rewards out.

use serde_json::{Value, json};

use crate::http::fixtures::{batch, item, service};

#[tokio::test]
async fn every_key_of_a_result_is_always_there() {
    let service = service().await;
    let mut graded = item("1/3", r"so it is \boxed{\frac{12}{36}}.");
    graded["id"] = json!("a");
    let ungradable = item("", "1");
    let failed = json!({ "completion": "1", "task": { "type": "panicking" } });
    let got = service.grade(&batch([graded, ungradable, failed])).await;
    let body = got.json();
    let results = body["results"].as_array().unwrap();
    let keys = |result: &Value| {
        result
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert!(
        results
            .iter()
            .all(|result| keys(result) == keys(&results[0]))
    );
    let outcomes: Vec<_> = results
        .iter()
        .map(|result| result["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["graded", "ungradable", "failed"]);
    assert_eq!(results[0]["reward"], 1.0);
    assert_eq!(results[0]["evidence"]["extracted"], r"\frac{12}{36}");
    for result in &results[1..] {
        for number in ["pass", "score", "reward", "advantage", "verdict"] {
            assert!(result[number].is_null(), "{number} of {result}");
        }
        assert!(
            result["error"]["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty())
        );
    }
    assert_eq!(results[2]["error"]["code"], "grader_panicked");
    assert!(results.iter().all(|result| result["recorded"] == true));
}

#[tokio::test]
async fn returns_advantages_and_requested_statistics_of_a_group() {
    let service = service().await;
    let mut request = batch(["1", "2", "1", "3"].map(|completion| {
        let mut item = item("1", completion);
        item["group"] = json!("p");
        item
    }));
    request["statistics"] = json!(["mean", "passk", "p_hat"]);
    let body = service.grade(&request).await.json();
    let advantages: Vec<_> = body["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["advantage"].as_f64())
        .collect();
    assert_eq!(advantages, [Some(0.5), Some(-0.5), Some(0.5), Some(-0.5)]);
    let group = &body["groups"][0];
    assert_eq!(
        (group["n"].as_u64(), group["mean"].as_f64()),
        (Some(4), Some(0.5))
    );
    assert_eq!(group["statistics"]["passk"]["1"], 0.5);
    assert_eq!(body["channels"][0]["channel"], "math/default");
}

#[tokio::test]
async fn unknown_fields_are_warnings_outside_tasks_and_errors_inside() {
    let service = service().await;
    let mut strange = item("1", "1");
    strange["foo"] = json!(1);
    let body = service.grade(&batch([strange])).await.json();
    assert_eq!(body["warnings"][0]["pointer"], "/items/0/foo");
    assert_eq!(body["results"][0]["pass"], true);
    let mut typo = item("1", "1");
    typo["task"]["tolerence"] = json!(1);
    let got = service.grade(&batch([item("1", "1"), typo])).await;
    assert_eq!(
        got.refusal(),
        (
            422,
            "invalid_task".to_owned(),
            Some("/items/1/task/tolerence".to_owned())
        )
    );
}

#[tokio::test]
async fn results_have_the_chosen_fields_and_failures_their_errors() {
    let service = service().await;
    let failing = json!({ "completion": "1", "task": { "type": "panicking" } });
    let mut request = batch([item("1", "1"), item("1", "2"), failing]);
    request["fields"] = json!(["reward", "verdict"]);
    let got = service.grade(&request).await;
    let text = String::from_utf8(got.bytes.to_vec()).unwrap();
    let graded = r#"{"verdict":"correct","reward":1.0},{"verdict":"wrong_answer","reward":0.0},"#;
    assert!(text.contains(graded), "{text}");
    let body = got.json();
    assert_eq!(
        (body.get("groups"), body.get("channels")),
        (None, None),
        "{text}"
    );
    let failed = &body["results"][2];
    let keys: Vec<_> = failed.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["error", "outcome", "reward", "verdict"]);
    assert_eq!(failed["error"]["code"], "grader_panicked");
    assert_eq!(
        (&failed["outcome"], &failed["reward"]),
        (&json!("failed"), &Value::Null)
    );

    request["fields"] = json!(["groups", "channels", "id"]);
    let body = service.grade(&request).await.json();
    assert_eq!(body["groups"][0]["mean"], 1.0);
    assert_eq!(body["channels"][0]["channel"], "math/default");
    assert_eq!(body["results"][0], json!({ "id": null }));
}

#[tokio::test]
async fn streams_have_positions_and_the_chosen_fields() {
    let service = service().await;
    let mut request = batch((0..20).map(|n| item(&n.to_string(), "7")));
    let accept = [("accept", "application/x-ndjson")];
    for (fields, others) in [(json!(["reward"]), 0), (json!(["reward", "groups"]), 20)] {
        request["fields"] = fields;
        let got = service.grade_with(request.to_string(), &accept).await;
        let text = String::from_utf8(got.bytes.to_vec()).unwrap();
        let (mut results, rest): (Vec<&str>, Vec<&str>) = text
            .lines()
            .partition(|line| line.starts_with(r#"{"type":"result","#));
        results.sort_by_key(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["position"].as_u64()
        });
        let expected = (0..20).map(|n| {
            let reward = if n == 7 { "1.0" } else { "0.0" };
            format!(r#"{{"type":"result","position":{n},"reward":{reward}}}"#)
        });
        assert_eq!(results, expected.collect::<Vec<_>>());
        assert_eq!(rest.len(), others + 1, "{rest:?}");
    }
}

#[tokio::test]
async fn rejects_unknown_fields_of_results() {
    let service = service().await;
    let mut request = batch([item("1", "1")]);
    request["fields"] = json!(["reward", "verdit"]);
    let got = service.grade(&request).await;
    assert_eq!(
        got.refusal(),
        (
            422,
            "invalid_field".to_owned(),
            Some("/fields/1".to_owned())
        )
    );
    let message = got.json()["error"]["message"].to_string();
    assert!(message.contains("did you mean `verdict`?"), "{message}");
}

#[tokio::test]
async fn a_stream_ends_with_counts() {
    let service = service().await;
    let request = batch((0..100).map(|n| item(&(n % 2).to_string(), "1")));
    let got = service
        .grade_with(request.to_string(), &[("accept", "application/x-ndjson")])
        .await;
    assert_eq!(got.headers["content-type"], "application/x-ndjson");
    let text = String::from_utf8(got.bytes.to_vec()).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_type = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!(
        (
            of_type("result"),
            of_type("group"),
            of_type("channel"),
            of_type("end")
        ),
        (100, 100, 1, 1)
    );
    let end = lines.last().unwrap();
    assert_eq!(
        end["counts"],
        json!({ "items": 100, "graded": 100, "ungradable": 0, "failed": 0 })
    );
    assert!(
        lines
            .iter()
            .filter(|line| line["type"] == "result")
            .all(|line| line["advantage"].is_null())
    );
}

#[tokio::test]
async fn grades_the_text_of_the_last_assistant_message() {
    let service = service().await;
    let completion = json!([
        { "role": "assistant", "content": "\\boxed{9}" },
        { "role": "assistant", "content": [{ "type": "text", "text": "it is \\boxed{7}" }], "reasoning_content": "\\boxed{8}" },
        { "role": "tool", "content": "6" },
    ]);
    let request =
        batch([json!({ "completion": completion, "task": { "type": "math", "answer": "7" } })]);
    assert_eq!(
        service.grade(&request).await.json()["results"][0]["verdict"],
        "correct"
    );
}

#[tokio::test]
async fn many_tasks_refer_to_a_shared_state() {
    let service = service().await;
    let tool = json!({ "name": "take", "parameters": { "type": "object",
        "required": ["fruit"], "properties": { "fruit": { "type": "string" } } } });
    let task = |fruit: &str| {
        json!({ "type": "tools", "tools": { "$shared": "tools" },
            "expected": [{ "name": "take", "arguments": { "fruit": fruit } }],
            "state": { "initial": { "$shared": "shop" },
                "effects": { "take": [{ "op": "decrease", "path": "/{fruit}", "by": 1 }] } } })
    };
    let item = |fruit: &str| {
        let call = json!({ "name": "take", "arguments": { "fruit": "apple" } });
        json!({ "completion": format!("<tool_call>{call}</tool_call>"), "task": task(fruit) })
    };
    let mut request = batch([item("apple"), item("pear")]);
    request["shared"] = json!({ "tools": [tool], "shop": { "apple": 3, "pear": 2 } });
    let body = service.grade(&request).await.json();
    let verdicts = [
        &body["results"][0]["verdict"],
        &body["results"][1]["verdict"],
    ];
    assert_eq!(verdicts, ["correct", "wrong_state"], "{body}");
    // The record does not need the request.
    let grade = body["results"][0]["grade"].as_str().unwrap();
    let replay = format!("/v1/grades/{grade}/replay");
    let replayed = service.post(&replay, &json!({})).await.json();
    assert_eq!(
        (&replayed["flipped"], &replayed["replayed"]["verdict"]),
        (&json!(false), &json!("correct")),
        "{replayed}"
    );
    request["shared"] = json!({ "tools": [], "shops": {} });
    let rejected = service.grade(&request).await;
    let (_, code, pointer) = rejected.refusal();
    assert_eq!(code, "invalid_task");
    assert_eq!(pointer.as_deref(), Some("/items/0/task/state/initial"));
}
