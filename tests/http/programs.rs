//! Programs over HTTP: graded, and only run in the format of a peer.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::fixtures::{Service, batch, service};

fn program(text: &str, tests: &Value) -> Value {
    json!({
        "completion": format!("```python\n{text}\n```"),
        "task": { "type": "code", "language": "python", "tests": tests, "limits": { "seconds": 1 } },
    })
}

#[tokio::test]
async fn a_batch_of_programs_is_graded_beside_mathematics() {
    let service = service().await;
    let tests = json!([{"stdin": "2 3\n", "stdout": "5\n"}]);
    let items = batch([
        program("print(sum(map(int, input().split())))", &tests),
        program("print(5 if input() else 0)", &json!([{"stdin": "\n", "stdout": "5\n"}])),
        program("while True: pass", &tests),
        json!({"completion": "\\boxed{5}", "task": {"type": "math", "answer": "5"}}),
        program("import os\nos.kill(os.getpid(), 9)", &tests),
    ]);
    let reply = service.grade(&items).await.json();
    let verdicts: Vec<&str> =
        reply["results"].as_array().unwrap().iter().map(|result| result["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["accepted", "wrong_answer", "time_limit", "correct", "runtime_error"]);
    let first = &reply["results"][0];
    assert_eq!(first["measures"]["tests_passed"], 1.0);
    assert_eq!(first["evidence"]["image"].as_str().unwrap().len(), 64);
    let failure = &reply["results"][1]["evidence"]["first_failure"];
    assert_eq!(failure["difference"], json!({"line": 1, "expected": "5", "got": "0"}));
}

async fn run_code(service: &Service, body: &Value) -> (u16, Value) {
    let request = Request::post("/compat/sandboxfusion/run_code").header("content-type", "application/json");
    let got = service.send(request.body(Body::from(body.to_string())).unwrap()).await;
    (got.status.as_u16(), got.json())
}

#[tokio::test]
async fn a_peers_client_gets_what_it_reads() {
    let service = service().await;
    let run = async |code: &str, stdin: Value| {
        let body = json!({
            "compile_timeout": 1, "run_timeout": 1, "code": code, "stdin": stdin, "memory_limit_MB": 256,
            "language": "python", "files": {}, "fetch_files": [],
        });
        let (status, reply) = run_code(&service, &body).await;
        assert_eq!(status, 200);
        let run = &reply["run_result"];
        (reply["status"].clone(), run["status"].clone(), run["return_code"].clone(), run["stdout"].clone())
    };
    assert_eq!(
        run("print(int(input()) * 2)", json!("21")).await,
        (json!("Success"), json!("Finished"), json!(0), json!("42\n"))
    );
    assert_eq!(run("print(1)\n1/0", json!(null)).await, (json!("Failed"), json!("Finished"), json!(1), json!("1\n")));
    assert_eq!(run("print(", json!(null)).await, (json!("Failed"), json!("Finished"), json!(1), json!("")));
    let over = run("print(1, flush=True)\nwhile True: pass", json!(null)).await;
    assert_eq!(over, (json!("Failed"), json!("TimeLimitExceeded"), json!(null), json!("1\n")));
}

#[tokio::test]
async fn runs_large_programs_and_programs_with_lone_surrogates() {
    let service = service().await;
    let request = |body: String| Request::post("/compat/sandboxfusion/run_code").body(Body::from(body)).unwrap();
    let long = format!("# {}", "x".repeat(200_000));
    for code in [long.as_str(), r"# \ud83d"] {
        let body = format!(r#"{{"code":"{code}\nprint(1)","language":"python","run_timeout":1}}"#);
        let reply = service.send(request(body)).await.json();
        assert_eq!(reply["run_result"]["stdout"], "1\n", "{reply}");
    }
}

#[tokio::test]
async fn a_peers_mistakes_are_told_in_its_words() {
    let service = service().await;
    let (status, reply) = run_code(&service, &json!({"code": "x"})).await;
    assert_eq!((status, reply["detail"][0]["loc"].clone()), (422, json!(["body"])));
    assert_eq!(run_code(&service, &json!({"code": "x", "language": "cobol"})).await.0, 422);
    let (status, reply) = run_code(&service, &json!({"code": "x", "language": "cpp"})).await;
    assert_eq!((status, reply["status"].clone()), (200, json!("SandboxError")), "a language that is not built");
}
