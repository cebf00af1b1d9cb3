//! Rollouts in the formats of trainers and of ScaleBox.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, service};

async fn post(service: &Service, path: &str, body: &Value) -> Got {
    let request = Request::post(path).header("content-type", "application/json");
    service
        .send(request.body(Body::from(body.to_string())).unwrap())
        .await
}

fn math(answer: &str) -> Value {
    json!({ "type": "math", "answer": answer })
}

const OPENRLHF: &str = "/compat/openrlhf/grade";

/// What OpenRLHF 0.11 sends: the text of prompt and response, the prompt, and the label.
#[tokio::test]
async fn openrlhf_gets_rewards_of_its_samples() {
    let service = service().await;
    let body = json!({
        "query": ["1+1? \\boxed{3}\\boxed{2}", "\\boxed{2} or \\boxed{3}"],
        "prompts": ["1+1? \\boxed{3}", "\\boxed{2}"],
        "labels": [math("2"), math("2").to_string()],
    });
    let got = post(&service, OPENRLHF, &body).await;
    assert_eq!(
        (got.status.as_u16(), got.json()),
        (200, json!({ "rewards": [1.0, 0.0], "scores": [1.0, 0.0] }))
    );
    let empty = json!({ "query": [], "prompts": [], "labels": [] });
    let got = post(&service, OPENRLHF, &empty).await;
    assert_eq!(got.json(), json!({ "rewards": [], "scores": [] }));
}

/// A label that is not an object is in the column that `label` names, as templates need it.
#[tokio::test]
async fn openrlhf_labels_are_columns_of_templates() {
    let service = service().await;
    let body = json!({
        "query": ["1+1? \\boxed{2}", "1+1? \\boxed{3}"], "prompts": ["1+1?", "1+1?"],
        "labels": ["1+1=2\n#### 2", { "answer": "#### 3" }],
    });
    let path = format!("{OPENRLHF}?template=gsm8k");
    assert_eq!(post(&service, &path, &body).await.status.as_u16(), 422);
    let got = post(&service, &format!("{path}&label=answer"), &body).await;
    assert_eq!(got.json()["rewards"], json!([1.0, 1.0]));
}

/// The histories of prompts with the same gold are separate, and the record has the prompts.
#[tokio::test]
async fn routes_of_trainers_send_the_prompt() {
    let service = service().await;
    let body = json!({
        "query": ["1+1?\\boxed{2}", "3-1?\\boxed{2}"], "prompts": ["1+1?", "3-1?"],
        "labels": [math("2"), math("2")],
    });
    post(&service, &format!("{OPENRLHF}?run=prompts"), &body).await;
    let body = rollout("\\boxed{2}", &math("2"));
    post(&service, "/compat/nemo-gym/verify?run=prompts", &body).await;
    let grades = service.get("/v1/grades?run=prompts").await.json();
    let mut prompts = Vec::new();
    for grade in grades["grades"].as_array().unwrap() {
        let path = format!("/v1/grades/{}", grade["grade"].as_str().unwrap());
        prompts.push(service.get(&path).await.json()["prompt"].to_string());
    }
    prompts.sort();
    assert_eq!(
        prompts,
        [
            r#""1+1?""#,
            r#""3-1?""#,
            r#"[{"content":"1+1?","role":"user"}]"#
        ]
    );
}

#[tokio::test]
async fn openrlhf_gets_an_error_for_a_sample_without_a_reward() {
    let service = service().await;
    let body = json!({ "query": ["\\boxed{2}"], "labels": [math("")] });
    let got = post(&service, OPENRLHF, &body).await;
    assert_eq!(got.status.as_u16(), 422);
    let detail = got.json()["detail"].to_string();
    assert!(
        detail.contains("sample 0 has no reward: ungradable, `gold_unparsable`"),
        "{detail}"
    );
    for (body, part) in [
        (json!({ "query": ["a"], "labels": [] }), "the same length"),
        (
            json!({ "query": ["a"], "labels": ["2"] }),
            "`?template=NAME`",
        ),
        (json!({ "query": ["a"] }), "labels"),
    ] {
        let got = post(&service, OPENRLHF, &body).await;
        let detail = got.json()["detail"].to_string();
        assert!(
            got.status.as_u16() == 422 && detail.contains(part),
            "{detail}"
        );
    }
}

fn rollout(text: &str, task: &Value) -> Value {
    json!({
        "responses_create_params": { "input": [{ "role": "user", "content": "1+1?" }] },
        "response": { "id": "r", "output": [
            { "type": "reasoning", "summary": [] },
            { "type": "message", "role": "assistant", "content": [
                { "type": "output_text", "text": text, "annotations": [] },
            ] },
        ] },
        "task": task,
        "reward": "of the row",
    })
}

#[tokio::test]
async fn nemo_gym_gets_the_request_with_a_reward() {
    let service = service().await;
    for (answer, reward) in [("2", 1.0), ("3", 0.0)] {
        let body = rollout("\\boxed{2}", &math(answer));
        let got = post(&service, "/compat/nemo-gym/verify", &body).await;
        assert_eq!(got.status.as_u16(), 200);
        let reply = got.json();
        for field in ["responses_create_params", "response", "task"] {
            assert_eq!(reply[field], body[field], "{field}");
        }
        assert_eq!(reply["reward"], reward);
        assert_eq!(reply["mask_sample"], false);
        assert_eq!(reply["failure_kind"], Value::Null);
        assert!(reply.get("_ng_failure_class").is_none());
    }
}

#[tokio::test]
async fn nemo_gym_grades_calls_of_functions() {
    let service = service().await;
    let task = json!({
        "type": "tools",
        "tools": [{ "name": "f", "parameters": { "type": "object",
            "properties": { "x": { "type": "string" } } } }],
        "expected": [{ "name": "f", "arguments": { "x": "1" } }],
    });
    let call = |x: &str| {
        json!({ "type": "function_call", "id": "i", "call_id": "c", "name": "f",
            "arguments": json!({ "x": x }).to_string() })
    };
    let result = json!({ "type": "function_call_output", "call_id": "c", "output": "done" });
    let mut body = rollout("The answer.", &task);
    let message = body["response"]["output"][1].clone();
    for (output, reward) in [
        (json!([call("1")]), 1.0),
        (json!([call("1"), result, message]), 1.0),
        (json!([message, call("1")]), 1.0),
        (json!([call("2"), result, message]), 0.0),
        (json!([call("1"), call("1")]), 0.0),
        (json!([message]), 0.0),
    ] {
        body["response"]["output"] = output;
        let reply = post(&service, "/compat/nemo-gym/verify", &body)
            .await
            .json();
        assert_eq!(reply["reward"], reward, "{reply}");
        assert_eq!(reply["mask_sample"], false, "{reply}");
    }
}

#[tokio::test]
async fn nemo_gym_masks_a_rollout_without_a_reward() {
    let service = service().await;
    let body = rollout("\\boxed{2}", &math(""));
    let reply = post(&service, "/compat/nemo-gym/verify", &body)
        .await
        .json();
    assert_eq!(reply["mask_sample"], true);
    assert_eq!(reply["failure_kind"], "assay:gold_unparsable");
    assert_eq!(reply["_ng_failure_class"], "task_ungradable");
    assert_eq!(reply["_ng_failure_terminal"], true);
    let reason = reply["failure_reason"].as_str().unwrap();
    assert!(reason.contains("`gold_unparsable`"), "{reason}");
    let body = json!({ "response": { "output": [] }, "task": math("2") });
    let got = post(&service, "/compat/nemo-gym/verify", &body).await;
    assert_eq!(got.status.as_u16(), 422);
}

#[tokio::test]
async fn nemo_gym_gets_statistics_without_masked_rewards() {
    let service = service().await;
    let mut replies = Vec::new();
    for (index, answer) in ["2", "", "3"].into_iter().enumerate() {
        let body = rollout("\\boxed{2}", &math(answer));
        let mut reply = post(&service, "/compat/nemo-gym/verify", &body)
            .await
            .json();
        reply["_ng_task_index"] = json!(0);
        reply["_ng_rollout_index"] = json!(index);
        replies.push(reply);
    }
    let body = json!({ "verify_responses": replies });
    let got = post(&service, "/compat/nemo-gym/aggregate_metrics", &body).await;
    let metrics = got.json();
    assert_eq!(got.status.as_u16(), 200, "{metrics}");
    assert_eq!(metrics["key_metrics"]["mean/reward"], 0.5);
    assert_eq!(metrics["group_level_metrics"][0]["num_rollouts"], 2);
}

#[tokio::test]
async fn nemo_gym_sessions_have_no_state() {
    let service = service().await;
    let mode = service.get("/compat/nemo-gym/reverify_mode").await;
    assert_eq!(mode.json(), json!("stateless"));
    let seeded = post(&service, "/compat/nemo-gym/seed_session", &json!({})).await;
    assert_eq!(seeded.json(), json!({}));
    let closed = post(&service, "/compat/nemo-gym/close_session", &json!({})).await;
    assert_eq!(closed.json()["status"], "closed");
}

const SCALEBOX: &str = "/compat/sandboxfusion/common_evaluate_batch";

fn problem(program: &str, tests: &Value) -> Value {
    json!({
        "dataset": "d", "id": 7, "completion": format!("```python\n{program}\n```"),
        "config": { "language": "python", "run_timeout": 1,
            "provided_data": { "test_cases": tests }, "extra": { "run_all_cases": true } },
    })
}

#[tokio::test]
async fn scalebox_gets_the_result_of_each_test() {
    let service = service().await;
    let tests = json!({ "type": "stdin_stdout", "fn_name": null,
        "input": ["1\n", "2\n"], "output": ["2\n", "5\n"] });
    let program = "print(int(input()) * 2)";
    let got = post(&service, SCALEBOX, &problem(program, &tests)).await;
    let reply = got.json();
    assert_eq!(got.status.as_u16(), 200, "{reply}");
    assert_eq!(
        (&reply["id"], &reply["accepted"]),
        (&json!(7), &json!(false))
    );
    assert_eq!(reply["extracted_code"], format!("{program}\n"));
    let passed: Vec<_> = reply["tests"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&passed[0]["passed"], &passed[1]["passed"]),
        (&json!(true), &json!(false))
    );

    let call = json!({ "type": "function_call", "fn_name": "add",
        "input": ["1\n2"], "output": ["3"], "json_input": true });
    let program = problem("def add(a, b):\n    return a + b", &call);
    assert_eq!(
        post(&service, SCALEBOX, &program).await.json()["accepted"],
        true
    );

    let slow = post(&service, SCALEBOX, &problem("while True: pass", &tests))
        .await
        .json();
    let run = &slow["tests"][0]["exec_info"]["run_result"];
    assert_eq!(run["status"], "TimeLimitExceeded", "{slow}");
    let broken = post(&service, SCALEBOX, &problem("print(", &tests))
        .await
        .json();
    assert_eq!(
        broken["tests"][1]["exec_info"]["status"], "Failed",
        "{broken}"
    );
}

#[tokio::test]
async fn datasets_of_sandboxfusion_are_refused_with_a_reason() {
    let service = service().await;
    for path in ["submit", "get_prompts"] {
        let path = format!("/compat/sandboxfusion/{path}");
        let got = post(&service, &path, &json!({})).await;
        let detail = got.json()["detail"].to_string();
        assert!(
            got.status.as_u16() == 404 && detail.contains("/v1/grade"),
            "{detail}"
        );
    }
}

#[tokio::test]
async fn templates_make_tasks_of_rows() {
    let service = service().await;
    let body = json!({
        "query": ["1+1? \\boxed{2}", "1+1? \\boxed{2}", "1+1? \\boxed{2}"],
        "prompts": ["1+1? ", "1+1? ", "1+1? "],
        "labels": [{ "answer": "so\n#### 2" }, "{\"answer\": \"#### 3\"}", { "answer": "#### 2" }],
    });
    let path = format!("{OPENRLHF}?template=gsm8k&run=templates");
    let got = post(&service, &path, &body).await.json();
    assert_eq!(got["rewards"], json!([1.0, 0.0, 1.0]), "{got}");
    let runs = service.get("/v1/grades?run=templates").await.json();
    assert_eq!(runs["grades"].as_array().unwrap().len(), 3);

    let mut rollout = rollout("\\boxed{2}", &Value::Null);
    rollout["answer"] = json!("#### 2");
    let path = "/compat/nemo-gym/verify?template=gsm8k";
    assert_eq!(post(&service, path, &rollout).await.json()["reward"], 1.0);
    let misspelt = post(&service, "/compat/nemo-gym/verify?tempalte=x", &rollout).await;
    let detail = misspelt.json()["detail"].to_string();
    assert!(
        misspelt.status.as_u16() == 400 && detail.contains("tempalte"),
        "{detail}"
    );
    let unknown = post(&service, "/compat/nemo-gym/verify?template=none", &rollout).await;
    let detail = unknown.json()["detail"].to_string();
    assert!(
        unknown.status.as_u16() == 422 && detail.contains("none"),
        "{detail}"
    );
}

/// An integer of more than 64 bits, which no number of `serde_json` represents.
const LARGE: &str = "123456789012345678901234567891";

async fn post_text(service: &Service, path: &str, body: String) -> Got {
    let request = Request::post(path).header("content-type", "application/json");
    service.send(request.body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn large_integers_keep_their_digits() {
    let service = service().await;
    // The last digit decides.
    let other = LARGE.replace("91", "92");
    for (answer, reward) in [(LARGE, 1.0), (other.as_str(), 0.0)] {
        let body = format!(
            r#"{{"response":{{"seed":{LARGE},"output":[{{"type":"message","role":"assistant",
                "content":"{{\"n\":{answer}}}"}}]}},"seed":{LARGE},
                "task":{{"type":"structured","expected":{{"n":{LARGE}}}}}}}"#
        );
        let got = post_text(&service, "/compat/nemo-gym/verify", body).await;
        assert_eq!(got.json()["reward"], reward, "{answer}: {}", got.json());
        let text = String::from_utf8(got.bytes.to_vec()).unwrap();
        for part in [
            format!(r#""seed":{LARGE},"task":{{"type":"structured","expected":{{"n":{LARGE}}}"#),
            format!(r#"{{"seed":{LARGE},"output""#),
        ] {
            assert!(text.contains(&part), "{text}");
        }
        let query = format!(r#""query":["{{\"n\":{answer}}}"]"#);
        let label = format!(r#"{{"type":"structured","expected":{{"n":{LARGE}}}}}"#);
        for label in [label.clone(), Value::String(label).to_string()] {
            let body = format!(r#"{{{query},"labels":[{label}]}}"#);
            let got = post_text(&service, OPENRLHF, body).await;
            assert_eq!(got.json()["rewards"], json!([reward]), "{label} {answer}");
        }
        // A template would lose them.
        let body = format!(r#"{{{query},"labels":[{{"answer":{LARGE}}}]}}"#);
        let got = post_text(&service, "/compat/openrlhf/grade?template=aime", body).await;
        let detail = got.json()["detail"].to_string();
        assert_eq!(got.status.as_u16(), 422, "{detail}");
        assert!(detail.contains("more than 64 bits"), "{detail}");
        let call = format!(
            r#"{{"id":{LARGE},"completion":"```python\ndef f(n):\n    return n\n```",
                "config":{{"language":"python","provided_data":{{"test_cases":{{"fn_name":"f",
                "input":[[{LARGE}]],"output":["{answer}"]}}}}}}}}"#
        );
        let got = post_text(&service, SCALEBOX, call).await;
        let accepted = answer == LARGE;
        assert_eq!(got.json()["accepted"], accepted, "{answer}: {}", got.json());
        let text = String::from_utf8(got.bytes.to_vec()).unwrap();
        assert!(text.contains(&format!(r#""id":{LARGE}"#)), "{text}");
    }
}

#[tokio::test]
async fn duplicate_fields_are_rejected() {
    let service = service().await;
    let message = r#"[{"type":"message","role":"assistant","content":"\\boxed{2}"}]"#;
    let rollout =
        format!(r#"{{"response":{{"output":{message}}},"answer":"2","answer":"3","task":{{}}}}"#);
    for (path, body) in [
        ("/compat/nemo-gym/verify?template=aime", rollout),
        (
            "/compat/openrlhf/grade?template=aime",
            r#"{"query":["2"],"labels":[{"answer":"2","answer":"3"}]}"#.to_owned(),
        ),
        (
            "/compat/openrlhf/grade?template=aime",
            r#"{"query":["2"],"labels":["{\"answer\":\"2\",\"answer\":\"3\"}"]}"#.to_owned(),
        ),
    ] {
        let got = post_text(&service, path, body).await;
        let detail = got.json()["detail"].to_string();
        assert_eq!(got.status.as_u16(), 422, "{detail}");
        assert!(detail.contains("duplicate field `answer`"), "{detail}");
    }
}

#[tokio::test]
async fn lone_surrogates_are_replaced() {
    let service = service().await;
    let body = r#"{"response":{"output":[{"type":"message","role":"assistant",
        "content":"\ud800 \\boxed{2}"}]},"note":"\udfff","task":{"type":"math","answer":"2"}}"#;
    let got = post_text(&service, "/compat/nemo-gym/verify", body.to_owned()).await;
    let reply = got.json();
    assert_eq!(
        (&reply["reward"], &reply["note"]),
        (&json!(1.0), &json!("\u{fffd}"))
    );
}
