//! Programs in the format of Piston.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, service};

const EXECUTE: &str = "/compat/piston/api/v2/execute";

async fn send(service: &Service, body: &Value) -> Got {
    let request = Request::post(EXECUTE).header("content-type", "application/json");
    service
        .send(request.body(Body::from(body.to_string())).unwrap())
        .await
}

/// The reply to a request that succeeds.
async fn execute(service: &Service, body: &Value) -> Value {
    let got = send(service, body).await;
    let reply = got.json();
    assert_eq!(got.status, 200, "{reply}");
    reply
}

/// The message about a request that is refused.
async fn refused(service: &Service, body: &Value) -> String {
    let got = send(service, body).await;
    let reply = got.json();
    assert_eq!(got.status, 400, "{reply}");
    reply["message"].as_str().unwrap().to_owned()
}

fn program(language: &str, content: &str) -> Value {
    json!({"language": language, "version": "*", "files": [{"content": content}]})
}

#[tokio::test]
async fn lists_runtimes_with_versions_and_aliases() {
    let service = service().await;
    let runtimes = service.get("/compat/piston/api/v2/runtimes").await.json();
    let runtimes = runtimes.as_array().unwrap();
    let names: Vec<&Value> = runtimes
        .iter()
        .map(|runtime| &runtime["language"])
        .collect();
    assert_eq!(names, ["python", "javascript", "typescript", "cpp", "c"]);
    for (runtime, alias) in runtimes.iter().zip(["py", "node", "ts", "c++", "gcc"]) {
        let version = runtime["version"].as_str().unwrap();
        let numbers: Result<Vec<u32>, _> = version.split('.').map(str::parse).collect();
        assert_eq!(numbers.unwrap().len(), 3, "{version}");
        let aliases = runtime["aliases"].as_array().unwrap();
        assert!(aliases.contains(&json!(alias)), "{runtime}");
    }
}

#[tokio::test]
async fn runs_programs_in_every_language() {
    let service = service().await;
    let mut python = program(
        "python",
        "import sys\nprint(int(input()) * 2)\nsys.stderr.write('e')",
    );
    python["stdin"] = json!("21\n");
    python["args"] = json!([]);
    python["compile_timeout"] = json!(10_000);
    python["run_memory_limit"] = json!(-1);
    let reply = execute(&service, &python).await;
    assert_eq!(reply["language"], "python");
    assert!(reply["version"].as_str().unwrap().starts_with("3."));
    assert!(reply.get("compile").is_none(), "{reply}");
    let run = &reply["run"];
    for (field, expected) in [
        ("stdout", json!("42\n")),
        ("stderr", json!("e")),
        ("output", json!("42\ne")),
        ("code", json!(0)),
        ("signal", Value::Null),
        ("message", Value::Null),
        ("status", Value::Null),
        ("memory", Value::Null),
    ] {
        assert_eq!(run[field], expected, "{field}: {run}");
    }
    assert!(
        run["cpu_time"].is_u64() && run["wall_time"].is_u64(),
        "{run}"
    );

    let reply = execute(&service, &program("node", "console.log([1, 2].length);")).await;
    assert_eq!(
        (&reply["language"], &reply["run"]["stdout"]),
        (&json!("javascript"), &json!("2\n")),
        "{reply}"
    );
    let reply = execute(&service, &program("Python3", "raise SystemExit(3)")).await;
    assert_eq!(
        (&reply["run"]["code"], &reply["run"]["status"]),
        (&json!(3), &json!("RE")),
        "{reply}"
    );
    assert_eq!(reply["run"]["message"], "Exited with error status 3");
}

#[tokio::test]
async fn separates_compile_results_from_run_results() {
    let service = service().await;
    let reply = execute(
        &service,
        &program("ts", "const x: number = 2;\nconsole.log(x);"),
    )
    .await;
    assert_eq!(
        (&reply["language"], &reply["run"]["stdout"]),
        (&json!("typescript"), &json!("2\n")),
        "{reply}"
    );
    assert_eq!(
        (&reply["compile"]["code"], &reply["compile"]["output"]),
        (&json!(0), &json!(""))
    );
    let reply = execute(&service, &program("typescript", "let x: = 1;")).await;
    let compile = &reply["compile"];
    assert_eq!(
        (&compile["code"], &compile["status"]),
        (&json!(1), &json!("RE")),
        "{reply}"
    );
    let stderr = compile["stderr"].as_str().unwrap();
    assert!(stderr.starts_with("SyntaxError: "), "{stderr}");
    assert_eq!(&reply["run"], compile);
    let reply = execute(&service, &program("python", "print(")).await;
    assert!(reply.get("compile").is_none(), "{reply}");
    assert_eq!(reply["run"]["code"], 1);
}

#[tokio::test]
async fn rejects_unknown_languages_and_versions_and_lists_the_available_ones() {
    let service = service().await;
    let message = refused(&service, &program("cobol", "x")).await;
    assert!(
        message.starts_with("unknown language `cobol`; this node runs `python` 3."),
        "{message}"
    );
    for language in ["`javascript`", "`typescript`"] {
        assert!(message.contains(language), "{message}");
    }
    let mut body = program("python", "print(1)");
    for version in ["3", "3.x", "*"] {
        body["version"] = json!(version);
        assert_eq!(execute(&service, &body).await["run"]["stdout"], "1\n");
    }
    body["version"] = json!("2.7");
    let message = refused(&service, &body).await;
    assert!(
        message.starts_with("no version `2.7` of `python`; this node runs `python` 3."),
        "{message}"
    );
    body["version"] = json!(">=3");
    let message = refused(&service, &body).await;
    assert!(
        message.starts_with("unsupported `version` `>=3`"),
        "{message}"
    );
}

#[tokio::test]
async fn programs_read_the_other_files() {
    let service = service().await;
    let wide = "wide ".repeat(30) + ".";
    let encoded = STANDARD.encode(&wide);
    let encoded = format!(
        "{}\n{}",
        &encoded[..76],
        encoded[76..].trim_end_matches('=')
    );
    let program = "\
import helper
for path in ['in/wide.txt', 'bytes', 'file4.code']:
    print(open(path).read())
print(helper.double(4))
";
    let body = json!({"language": "python", "version": "*", "files": [
        {"name": "in/wide.txt", "content": encoded, "encoding": "base64"},
        {"name": "main.py", "content": program, "encoding": "utf8"},
        {"name": "helper.py", "content": "def double(x):\n    return 2 * x\n"},
        {"name": "bytes", "content": "6162", "encoding": "hex"},
        {"content": "unnamed"},
    ]});
    let reply = execute(&service, &body).await;
    assert_eq!(
        reply["run"]["stdout"],
        format!("{wide}\nab\nunnamed\n8\n"),
        "{reply}"
    );
}

#[tokio::test]
async fn a_program_that_exceeds_its_time_is_killed() {
    let service = service().await;
    let mut body = program("python", "print(1, flush=True)\nwhile True: pass");
    body["run_timeout"] = json!(1_000);
    let run = execute(&service, &body).await["run"].clone();
    for (field, expected) in [
        ("stdout", json!("1\n")),
        ("code", Value::Null),
        ("signal", json!("SIGKILL")),
        ("status", json!("TO")),
    ] {
        assert_eq!(run[field], expected, "{field}: {run}");
    }
}

#[tokio::test]
async fn invalid_requests_are_refused_in_the_format_of_the_emulated_server() {
    let service = service().await;
    let changed = |field: &str, value: Value| {
        let mut body = program("python", "print(1)");
        body[field] = value;
        body
    };
    let file = |file: Value| changed("files", json!([{"content": "print(1)"}, file]));
    for (body, part) in [
        (json!({"language": "python", "version": "*"}), "`files`"),
        (changed("version", Value::Null), "version"),
        (changed("files", json!([])), "`utf8`"),
        (changed("args", json!(["1"])), "`args` must be empty"),
        (changed("run_timeout", json!(-1)), "`run_timeout`"),
        (
            file(json!({"content": "?", "encoding": "base64"})),
            "`files[1]` is not base64",
        ),
        (
            file(json!({"content": "0", "encoding": "hex"})),
            "`files[1]` is not hexadecimal",
        ),
        (file(json!({"content": "0", "encoding": "gzip"})), "gzip"),
        (file(json!({"content": "", "name": "../a"})), "`../a`"),
        (file(json!({"content": "", "name": "./a"})), "`./a`"),
    ] {
        let message = refused(&service, &body).await;
        assert!(message.contains(part), "{message}");
    }
    let request = Request::post(EXECUTE).header("content-type", "text/plain");
    let got = service.send(request.body(Body::from("{}")).unwrap()).await;
    assert_eq!(got.status, 415);
    assert!(got.json()["message"].is_string());
}

#[tokio::test]
async fn clients_retry_when_the_node_is_busy() {
    let service = service().await;
    let engine = service.node.engine();
    engine.shut_down(std::time::Duration::from_secs(5)).await;
    let got = send(&service, &program("python", "print(1)")).await;
    assert_eq!(got.status, 503);
    assert_eq!(got.headers["retry-after"], "1");
    assert!(got.json()["message"].is_string());
}
