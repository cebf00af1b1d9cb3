//! Routes that run code in interpreter sessions as other tool servers do: SandboxFusion's notebook,
//! the server of verl-tool, the Model Context Protocol, NeMo Gym's tool, and sandboxes of E2B.

use axum::body::Body;
use http::{Request, StatusCode, header};
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, service};

#[tokio::test]
async fn cells_run_as_in_a_notebook() {
    let service = service().await;
    let path = "/compat/sandboxfusion/run_jupyter";
    let request = json!({
        "cells": [
            "a = open('in.txt').read()",
            "a",
            "import sys\nprint(a)\nsys.stderr.write('noise\\n')",
            "assert a == 'other', 'why'",
            "open('out.txt', 'w').write(a * 2)\nprint('after')",
        ],
        "files": { "in.txt": "YWI=", "ignored": null },
        "fetch_files": ["out.txt", "missing"],
        "kernel": "python3",
    });
    let reply = service.post(path, &request).await.json();
    assert_eq!(reply["status"], "Success", "{reply}");
    assert_eq!(reply["driver"]["status"], "Finished");
    let cells = &reply["cells"];
    let empty = json!({ "stdout": "", "stderr": "", "display": [], "error": [] });
    assert_eq!(cells[0], empty);
    assert_eq!(cells[1]["display"], json!([{ "text/plain": "'ab'" }]));
    assert_eq!(
        (&cells[2]["stdout"], &cells[2]["stderr"]),
        (&json!("ab\n"), &json!("noise\n"))
    );
    assert_eq!(cells[3]["stderr"], "");
    assert_eq!(cells[3]["error"][0]["ename"], "AssertionError");
    assert_eq!(cells[3]["error"][0]["evalue"], "why");
    assert_eq!(cells[4]["stdout"], "after\n");
    assert_eq!(reply["files"], json!({ "out.txt": "YWJhYg==" }));
    let request = json!({ "cells": ["x = 1", "while True: pass", "x"], "total_timeout": 0.2 });
    let reply = service.post(path, &request).await.json();
    assert_eq!(reply["status"], "Failed", "{reply}");
    assert_eq!(reply["driver"]["status"], "TimeLimitExceeded");
    assert_eq!(reply["cells"], json!([]));
    for (field, value) in [("kernel", json!("bash")), ("files", json!({ "a": "?" }))] {
        let mut request = json!({ "cells": [] });
        request[field] = value;
        let got = service.post(path, &request).await;
        assert_eq!(
            got.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{}",
            got.text()
        );
    }
    let sessions = service.get("/v1/sessions").await.json();
    assert_eq!(sessions["sessions"], json!([]), "the sessions have ended");
}

#[tokio::test]
async fn trajectories_of_verl_tool_have_sessions() {
    let service = service().await;
    let path = "/compat/verl-tool/get_observation";
    let request = json!({
        "trajectory_ids": ["a", 2, "a", "b"],
        "actions": [
            "<python>x = 20\nprint('hello')</python>",
            "so:\n```python\nprint(x)\n```",
            "<python>x + 1</python>",
            "no code",
        ],
        "extra_fields": [{}, {}, {}, {}],
    });
    let got = service.post(path, &request).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text());
    let reply = got.json();
    assert_eq!(reply["valids"], json!([true, true, true, false]));
    assert_eq!(reply["dones"], json!([false, false, false, false]));
    let observations = &reply["observations"];
    assert_eq!(observations[0], "\n<result>\nhello\n</result>\n");
    let other = observations[1].as_str().unwrap();
    assert!(
        other.starts_with("\n```result\n") && other.contains("NameError"),
        "{other}"
    );
    assert_eq!(observations[2], "\n<result>\nOut[2]: 21\n</result>\n");
    assert_eq!(observations[3]["obs"], "");
    let request = json!({
        "trajectory_ids": ["a", "b"],
        "actions": ["the answer is \\boxed{42}.", "nothing"],
        "finish": [true, true],
    });
    let reply = service.post(path, &request).await.json();
    let expected = json!({
        "observations": ["42", "nothing"], "dones": [true, true], "valids": [true, false],
    });
    assert_eq!(reply, expected);
    let sessions = service.get("/v1/sessions").await.json();
    let names: Vec<&Value> = sessions["sessions"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 1, "{sessions}");
    assert_eq!(names[0]["name"], "verl-tool/2");
    for request in [
        json!({ "trajectory_ids": ["a"], "actions": [] }),
        json!({ "trajectory_ids": [], "actions": [] }),
        json!({ "trajectory_ids": [{}], "actions": ["x"] }),
    ] {
        let got = service.post(path, &request).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST, "{}", got.text());
        assert!(got.json()["detail"].is_string());
    }
    let health = service.get("/compat/verl-tool/health").await.json();
    assert_eq!(health["status"], "healthy");
}

#[tokio::test]
async fn tools_of_the_model_context_protocol_share_a_session() {
    let service = service().await;
    let path = "/compat/mcp";
    let send = |session: Option<String>, message: Value| {
        let mut request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        service.send(request.body(Body::from(message.to_string())).unwrap())
    };
    let initialize = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {} },
    });
    let got = send(None, initialize).await;
    let session = got.headers["mcp-session-id"].to_str().unwrap().to_owned();
    let result = &got.json()["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["serverInfo"]["name"], "assay");
    let session = || Some(session.clone());
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let got = send(session(), notification).await;
    assert_eq!(got.status, StatusCode::ACCEPTED);
    let list = json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list" });
    let listed = send(session(), list).await.json();
    assert_eq!(listed["id"], "a");
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    let names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["run_python", "run_javascript", "run_cpp", "run_sql"]
    );
    let call = |tool: &str, code: &str| {
        json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": { "code": code } },
        })
    };
    let called = send(session(), call("run_python", "x = 20")).await.json();
    assert_eq!(called["result"]["isError"], false, "{called}");
    let called = send(session(), call("run_python", "x + 1")).await.json();
    let expected = json!([{ "type": "text", "text": "Out[2]: 21" }]);
    assert_eq!(called["result"]["content"], expected);
    let called = send(session(), call("run_python", "y")).await.json();
    assert_eq!(called["result"]["isError"], true);
    let text = called["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.matches("NameError").count(), 1, "{text}");
    let called = send(session(), call("run_javascript", "[1].concat(2).length"))
        .await
        .json();
    assert_eq!(called["result"]["content"][0]["text"], "Out[1]: 2");
    let table = "create table t(a, b); insert into t values (1, 'x'), (2, 'y')";
    let called = send(session(), call("run_sql", table)).await.json();
    assert_eq!(called["result"]["isError"], false, "{called}");
    let rows = call("run_sql", "select a, b from t order by a");
    let called = send(session(), rows).await.json();
    let text = &called["result"]["content"][0]["text"];
    assert_eq!(text, "Out[2]: a|b\n1|x\n2|y", "{called}");
    let called = send(session(), call("run_sql", "select c from t"))
        .await
        .json();
    assert_eq!(called["result"]["isError"], true, "{called}");
    let program = "#include <iostream>\nint main() { std::cout << 6 * 7; }";
    let called = send(session(), call("run_cpp", program)).await.json();
    assert_eq!(called["result"]["content"][0]["text"], "42", "{called}");
    for (message, code) in [
        (call("rm", "x"), -32_602),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {} }),
            -32_602,
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list" }),
            -32_601,
        ),
        (
            json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }),
            -32_600,
        ),
    ] {
        let reply = send(session(), message).await.json();
        assert_eq!(reply["error"]["code"], code, "{reply}");
    }
    let got = send(None, call("run_python", "x")).await;
    assert_eq!(got.refusal().1, "invalid_parameter");
    let other = Some("other".to_owned());
    let called = send(other, call("run_python", "x")).await.json();
    assert_eq!(
        called["result"]["isError"], true,
        "another session has no `x`: {called}"
    );
    assert_eq!(
        service.get(path).await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    let request = Request::delete(path).header("mcp-session-id", session().unwrap());
    let got = service.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(got.status, StatusCode::NO_CONTENT);
    let sessions = service.get("/v1/sessions").await.json();
    assert_eq!(
        sessions["sessions"].as_array().unwrap().len(),
        1,
        "{sessions}"
    );
}

/// Posts to a route with a header.
async fn post(service: &Service, path: &str, header: (&str, &str), body: &Value) -> Got {
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header.0, header.1)
        .body(Body::from(body.to_string()))
        .unwrap();
    service.send(request).await
}

/// The open sessions of the node.
async fn open_sessions(service: &Service) -> usize {
    let listed = service.get("/v1/sessions").await.json();
    listed["sessions"].as_array().unwrap().len()
}

#[tokio::test]
async fn rollouts_of_nemo_gym_call_tools_in_a_session() {
    let service = service().await;
    let path = "/compat/nemo-gym/execute_python";
    let seeded = service
        .post("/compat/nemo-gym/seed_session", &json!({}))
        .await;
    let cookie = seeded.headers["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let run = async |code: &str| {
        let got = post(
            &service,
            path,
            ("cookie", &cookie),
            &json!({ "code": code }),
        )
        .await;
        assert_eq!(got.status, StatusCode::OK, "{}", got.text());
        let again = got.headers["set-cookie"].to_str().unwrap();
        assert!(again.starts_with(&cookie), "{again}");
        got.json()
    };
    let expected = json!({
        "success": true, "stdout": "2\n", "stderr": "", "error_message": null, "result": "2",
    });
    assert_eq!(run("x = 2\nprint(x)\nx").await, expected);
    let failed = run("while True: pass").await;
    assert_eq!(
        (&failed["success"], &failed["error_message"]),
        (&json!(false), &json!("stopped: more work than the limit"))
    );
    // Without the cookie, the code is that of another rollout.
    let other = service.post(path, &json!({ "code": "x" })).await.json();
    assert_eq!(other["error_message"], "NameError: name 'x' is not defined");
    assert_eq!(open_sessions(&service).await, 2);
    let rollout = json!({
        "responses_create_params": { "input": "1+1?" },
        "response": { "output": [{ "type": "message", "role": "assistant", "content": [
            { "type": "output_text", "text": "It is \\boxed{2}." }] }] },
        "task": { "type": "math", "answer": "2" },
    });
    let verified = post(
        &service,
        "/compat/nemo-gym/verify",
        ("cookie", &cookie),
        &rollout,
    )
    .await;
    let verified = verified.json();
    assert_eq!(verified["reward"], 1.0, "{verified}");
    let path = format!("/v1/grades/{}", verified["grade"].as_str().unwrap());
    let grade = service.get(&path).await.json();
    assert_eq!(grade["measures"]["session.calls"], 2.0, "{grade}");
    assert_eq!(grade["measures"]["session.failed_calls"], 1.0);
    // It may be verified again, until the agent closes it.
    assert_eq!(open_sessions(&service).await, 2);
    let path = "/compat/nemo-gym/close_session";
    let closed = post(&service, path, ("cookie", &cookie), &json!({})).await;
    assert_eq!(closed.status, StatusCode::OK);
    assert_eq!(open_sessions(&service).await, 1);
}

#[tokio::test]
async fn sandboxes_of_e2b_are_groups_of_sessions() {
    let service = service().await;
    let created = json!({ "templateID": "t", "timeout": 10_000_000, "other": 1 });
    let got = service.post("/compat/e2b/v2/sandboxes", &created).await;
    assert_eq!(got.status, StatusCode::CREATED, "{}", got.text());
    let id = got.json()["sandboxID"].as_str().unwrap().to_owned();
    let execute = async |code: Value| {
        post(
            &service,
            "/compat/e2b/execute",
            ("e2b-sandbox-id", &id),
            &code,
        )
        .await
    };
    let events = async |code: Value| -> Vec<Value> {
        let got = execute(code).await;
        assert_eq!(got.status, StatusCode::OK, "{}", got.text());
        let text = got.text();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let seen = events(json!({ "code": "x = 20\nprint('hi')\nx" })).await;
    assert_eq!(
        seen,
        [
            json!({ "type": "stdout", "text": "hi\n", "timestamp": 0 }),
            json!({ "type": "result", "text": "20", "is_main_result": true }),
            json!({ "type": "number_of_executions", "execution_count": 1 }),
        ]
    );
    let seen = events(json!({ "code": "import decimal\ndecimal.Decimal(x) / 0" })).await;
    assert_eq!(seen[0]["name"], "DivisionByZero", "{seen:?}");
    assert!(seen[0]["traceback"].as_str().unwrap().contains("line 2"));
    let seen = events(json!({ "code": "!pip install json2 decimal\nx" })).await;
    let printed = "ERROR: No matching distribution found for json2\n\
                   Requirement already satisfied: decimal\n";
    assert_eq!(
        (&seen[0]["text"], &seen[1]["text"]),
        (&json!(printed), &json!("20"))
    );
    let seen = events(json!({ "code": "let y = 1; y", "language": "javascript" })).await;
    assert_eq!(seen[0]["text"], "1");
    let header = ("e2b-sandbox-id", &*id);
    let context = post(&service, "/compat/e2b/contexts", header, &json!({}))
        .await
        .json();
    let in_context = json!({ "code": "!pip install json\nx", "context_id": context["id"] });
    let seen = events(in_context).await;
    assert_eq!(seen[0]["text"], "Requirement already satisfied: json\n");
    assert_eq!(
        (&seen[1]["name"], &seen[2]["execution_count"]),
        (&json!("NameError"), &json!(1))
    );
    // Contexts and sessions of others are not those of the sandbox.
    let other = service
        .post("/compat/e2b/sandboxes", &json!({}))
        .await
        .json();
    let header_of_other = ("e2b-sandbox-id", other["sandboxID"].as_str().unwrap());
    let code = json!({ "code": "1", "context_id": context["id"] });
    let got = post(&service, "/compat/e2b/execute", header_of_other, &code).await;
    assert_eq!(got.status, StatusCode::NOT_FOUND, "{}", got.text());
    let path = format!("/compat/e2b/sandboxes/{}", header_of_other.1);
    service
        .send(Request::delete(path).body(Body::empty()).unwrap())
        .await;
    assert_eq!(open_sessions(&service).await, 3);
    let invalid = [
        json!({ "code": "x", "language": "cobol" }),
        json!({ "code": "x", "env_vars": { "A": "1" } }),
        json!({ "code": 1 }),
    ];
    for code in invalid {
        let got = execute(code).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST, "{}", got.text());
        assert_eq!(got.json()["code"], 400);
    }
    let path = format!("/compat/e2b/sandboxes/{id}");
    let end = async || {
        let request = Request::delete(&path).body(Body::empty()).unwrap();
        service.send(request).await.status
    };
    assert_eq!(end().await, StatusCode::NO_CONTENT);
    assert_eq!(open_sessions(&service).await, 0);
    assert_eq!(end().await, StatusCode::NOT_FOUND);
    let got = execute(json!({ "code": "x" })).await;
    assert_eq!(got.status, StatusCode::NOT_FOUND);
}
