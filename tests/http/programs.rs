//! Programs over HTTP: graded, and executed in the format of an emulated server.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, service};

fn program(text: &str, tests: &Value) -> Value {
    json!({
        "completion": format!("```python\n{text}\n```"),
        "task": { "type": "code", "language": "python", "tests": tests, "limits": { "seconds": 1 } },
    })
}

#[tokio::test]
async fn grades_programs_and_mathematics_in_one_batch() {
    let service = service().await;
    let tests = json!([{"stdin": "2 3\n", "stdout": "5\n"}]);
    let items = batch([
        program("print(sum(map(int, input().split())))", &tests),
        program(
            "print(5 if input() else 0)",
            &json!([{"stdin": "\n", "stdout": "5\n"}]),
        ),
        program("while True: pass", &tests),
        json!({"completion": "\\boxed{5}", "task": {"type": "math", "answer": "5"}}),
        program("import os\nos.kill(os.getpid(), 9)", &tests),
    ]);
    let reply = service.grade(&items).await.json();
    let verdicts: Vec<&str> = reply["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(
        verdicts,
        [
            "accepted",
            "wrong_answer",
            "time_limit",
            "correct",
            "runtime_error"
        ]
    );
    let first = &reply["results"][0];
    assert_eq!(first["measures"]["tests_passed"], 1.0);
    assert_eq!(first["evidence"]["image"].as_str().unwrap().len(), 64);
    let failure = &reply["results"][1]["evidence"]["first_failure"];
    assert_eq!(
        failure["difference"],
        json!({"line": 1, "expected": "5", "got": "0"})
    );
}

/// Tests are sent to a worker ahead with little work. Those that need more have the limit of the
/// task, and the same result as when they are graded alone.
#[tokio::test]
async fn tests_in_a_series_have_the_results_of_tests_alone() {
    let text = "n = int(input())\nfor _ in range(n): pass\nprint(n)";
    let test = |n: u64| json!({"stdin": format!("{n}\n"), "stdout": format!("{n}\n")});
    // About 2e7, 1e9 and more than 2e10 units of work.
    let (short, long, endless) = (10_000, 10_000_000, 100_000_000_000_u64);
    let series = [short, short + 1, short + 2, long, short + 3, short + 4];
    let result = async |numbers: &[u64]| {
        let tests: Vec<Value> = numbers.iter().copied().map(test).collect();
        let items = batch([program(text, &json!(tests))]);
        // Without the cached runs of others.
        let mut reply = service().await.grade(&items).await.json();
        reply["results"][0].take()
    };
    let passed = result(&series).await;
    assert_eq!(passed["verdict"], "accepted");
    assert_eq!(passed["measures"]["tests_passed"], 6.0);
    let mut most = 0.0_f64;
    for number in series {
        let alone = result(&[number]).await;
        most = most.max(alone["measures"]["work"].as_f64().unwrap());
    }
    assert!(most > 2e8, "{most}");
    assert_eq!(passed["measures"]["work"], most);
    let failed = result(&[short, short + 1, endless, short + 2]).await;
    let alone = result(&[endless]).await;
    assert_eq!(failed["verdict"], "time_limit");
    assert_eq!(failed["measures"]["tests_passed"], 2.0);
    assert_eq!(failed["measures"]["work"], alone["measures"]["work"]);
    let (mut failure, mut alone) = (
        failed["evidence"]["first_failure"].clone(),
        alone["evidence"]["first_failure"].clone(),
    );
    assert_eq!(
        (failure["test"].take(), alone["test"].take()),
        (json!(2), json!(0))
    );
    assert_eq!(failure, alone);
}

/// The results of these items, each a task with a program.
async fn results(service: &Service, items: &[(&str, Value)]) -> Vec<Value> {
    let item = |(text, task): &(&str, Value)| {
        let mut item = program(text, &task["tests"]);
        for (name, value) in task.as_object().unwrap() {
            item["task"][name] = value.clone();
        }
        item
    };
    let reply = service.grade(&batch(items.iter().map(item))).await.json();
    reply["results"].as_array().unwrap().clone()
}

#[tokio::test]
async fn evidence_names_lines_values_and_limits() {
    let service = service().await;
    let assert = json!({"tests": [{"assert": "x = 2\nassert half(x) == 1"}]});
    let items = [
        ("def half(x):\n    return x / 4", assert.clone()),
        ("def half(x):\n    y = x\n    return y // 0", assert.clone()),
        (
            "import pandas as pd\nprint(pd)",
            json!({"tests": [{"stdin": "", "stdout": "3"}]}),
        ),
        ("def half(x):\n    return x +", assert),
    ];
    let results = results(&service, &items).await;
    let evidence: Vec<&Value> = results.iter().map(|result| &result["evidence"]).collect();
    let failure: Vec<&Value> = evidence
        .iter()
        .map(|evidence| &evidence["first_failure"])
        .collect();
    assert_eq!(results[0]["verdict"], "wrong_answer");
    assert_eq!(
        (&failure[0]["line"], &failure[0]["source"]),
        (&json!(2), &json!("assert half(x) == 1"))
    );
    assert_eq!(
        (
            &failure[0]["left"],
            &failure[0]["right"],
            &failure[0]["operator"]
        ),
        (&json!("0.5"), &json!("1"), &json!("=="))
    );
    assert_eq!(
        failure[0]["calls"],
        json!([{"call": "half(2)", "returned": "0.5"}])
    );
    assert_eq!(
        (&results[1]["verdict"], &failure[1]["lines"]),
        (&json!("runtime_error"), &json!([4]))
    );
    assert_eq!(
        (&results[2]["verdict"], &evidence[2]["first_line"]),
        (&json!("runtime_error"), &json!(2))
    );
    assert_eq!(
        (&failure[2]["limit"], &failure[2]["lines"]),
        (&json!({"cause": "module", "name": "pandas"}), &json!([2]))
    );
    assert_eq!(
        (&results[3]["verdict"], &evidence[3]["lines"]),
        (&json!("compile_error"), &json!([3]))
    );
    let metrics = service.get("/metrics").await;
    let text = std::str::from_utf8(&metrics.bytes).unwrap();
    let counted = r#"assay_sandbox_limits_total{outcome="graded",cause="module",name="pandas"}"#;
    assert!(text.lines().any(|line| line.starts_with(counted)), "{text}");
}

#[tokio::test]
async fn names_and_counts_unsupported_features_of_compiled_programs() {
    let service = service().await;
    let nested = "int main(void) { int f(int x) { return x; } return f(0); }";
    let threads = "#include <thread>\nint main() { std::thread([] {}).join(); }";
    let item = |language: &str, text: &str, more: Value| {
        let mut task = json!({
            "type": "code",
            "language": language,
            "tests": [{"stdin": "", "stdout": ""}],
        });
        let fields = task.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        json!({"completion": format!("```{language}\n{text}\n```"), "task": task})
    };
    let programs = [
        (
            "cpp",
            "int main() { asm(\"movl %eax, %ebx\"); }",
            "extension",
            "inline_assembly",
        ),
        (
            "cpp",
            "#include <immintrin.h>\nint main() { __m256i x = _mm256_set1_epi32(1); }",
            "extension",
            "x86_intrinsics",
        ),
        ("c", nested, "extension", "nested_functions"),
        ("cpp", threads, "thread", "threads"),
        (
            "c",
            "#include <unistd.h>\nint main(void) { return fork(); }",
            "process",
            "fork",
        ),
    ];
    let mut items: Vec<_> = programs
        .iter()
        .map(|(language, text, ..)| item(language, text, json!({})))
        .collect();
    items.push(item("c", "int main(void) { return x; }", json!({})));
    items.push(item(
        "c",
        "int main(void) { return 0; }",
        json!({"reference": nested}),
    ));
    let reply = service.grade(&batch(items)).await.json();
    let results = reply["results"].as_array().unwrap();
    for ((_, _, cause, name), result) in programs.iter().zip(results) {
        assert_eq!(result["verdict"], "compile_error", "{result}");
        assert_eq!(
            result["evidence"]["limit"],
            json!({"cause": cause, "name": name})
        );
    }
    assert_eq!(results[5]["verdict"], "compile_error");
    assert!(results[5]["evidence"].get("limit").is_none());
    assert_eq!(results[6]["outcome"], "ungradable", "{}", results[6]);
    let message = results[6]["error"]["message"].as_str().unwrap();
    assert!(
        message.ends_with("does not support `nested_functions`"),
        "{message}"
    );
    let metrics = service.get("/metrics").await;
    let text = std::str::from_utf8(&metrics.bytes).unwrap();
    let graded = programs
        .iter()
        .map(|(_, _, cause, name)| ("graded", *cause, *name));
    for (outcome, cause, name) in graded.chain([("ungradable", "extension", "nested_functions")]) {
        let counted = format!(
            "assay_sandbox_limits_total{{outcome=\"{outcome}\",cause=\"{cause}\",name=\"{name}\"}} 1"
        );
        assert!(
            text.lines().any(|line| line == counted),
            "{counted}: {text}"
        );
    }
}

#[tokio::test]
async fn a_fault_of_the_task_has_no_score() {
    let service = service().await;
    let call = json!([{"call": "f", "args": [], "returns": 2}]);
    let right = "def f():\n    return 2";
    let items = [
        (right, json!({"tests": call, "prelude": "import pandas"})),
        (
            "def f(:",
            json!({"tests": call, "prelude": "import pandas"}),
        ),
        (
            right,
            json!({"tests": call, "prelude": {"preset": "leetcode", "text": "1 / 0"}}),
        ),
        (
            right,
            json!({"tests": call, "prelude": {"preset": "leetcode"}}),
        ),
    ];
    let results = results(&service, &items).await;
    for result in &results[..3] {
        assert_eq!(
            (&result["outcome"], &result["score"]),
            (&json!("ungradable"), &Value::Null),
            "{result}"
        );
        assert_eq!(result["error"]["code"], "task_at_fault");
    }
    let message = results[0]["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("the prelude raises an exception: ") && message.contains("`pandas`"),
        "{message}"
    );
    assert_eq!(results[1]["error"]["message"], message);
    assert!(
        results[2]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("ZeroDivisionError")
    );
    assert_eq!(results[3]["verdict"], "accepted");
    let unknown = program(right, &call);
    let mut unknown = batch([unknown]);
    unknown["items"][0]["task"]["prelude"] = json!({"preset": "codeforces"});
    let (status, code, pointer) = service.grade(&unknown).await.refusal();
    assert_eq!((status, code.as_str()), (422, "invalid_task"));
    assert!(pointer.is_some_and(|pointer| pointer.ends_with("/prelude/preset")));
}

async fn run_code(service: &Service, body: &Value) -> (u16, Value) {
    let request =
        Request::post("/compat/sandboxfusion/run_code").header("content-type", "application/json");
    let got = service
        .send(request.body(Body::from(body.to_string())).unwrap())
        .await;
    (got.status.as_u16(), got.json())
}

#[tokio::test]
async fn replies_match_the_emulated_server() {
    let service = service().await;
    let run = async |code: &str, stdin: Value| {
        let body = json!({
            "compile_timeout": 1, "run_timeout": 1, "code": code, "stdin": stdin, "memory_limit_MB": 256,
            "language": "python", "files": {}, "fetch_files": [],
        });
        let (status, reply) = run_code(&service, &body).await;
        assert_eq!(status, 200);
        let run = &reply["run_result"];
        (
            reply["status"].clone(),
            run["status"].clone(),
            run["return_code"].clone(),
            run["stdout"].clone(),
        )
    };
    assert_eq!(
        run("print(int(input()) * 2)", json!("21")).await,
        (json!("Success"), json!("Finished"), json!(0), json!("42\n"))
    );
    assert_eq!(
        run("print(1)\n1/0", json!(null)).await,
        (json!("Failed"), json!("Finished"), json!(1), json!("1\n"))
    );
    assert_eq!(
        run("print(", json!(null)).await,
        (json!("Failed"), json!("Finished"), json!(1), json!(""))
    );
    let over = run("print(1, flush=True)\nwhile True: pass", json!(null)).await;
    assert_eq!(
        over,
        (
            json!("Failed"),
            json!("TimeLimitExceeded"),
            json!(null),
            json!("1\n")
        )
    );
}

#[tokio::test]
async fn runs_large_programs_and_programs_with_lone_surrogates() {
    let service = service().await;
    let request = |body: String| {
        Request::post("/compat/sandboxfusion/run_code")
            .body(Body::from(body))
            .unwrap()
    };
    let long = format!("# {}", "x".repeat(200_000));
    for code in [long.as_str(), r"# \ud83d"] {
        let body = format!(r#"{{"code":"{code}\nprint(1)","language":"python","run_timeout":1}}"#);
        let reply = service.send(request(body)).await.json();
        assert_eq!(reply["run_result"]["stdout"], "1\n", "{reply}");
    }
}

/// Programs in C++, sent and read as verl's client does (`utils/reward_score/sandbox_fusion`).
#[tokio::test]
async fn grades_cpp_as_verls_client_reads_it() {
    let service = service().await;
    let double = "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << 2 * n; }";
    let memory = "#include <vector>\nint main(int n, char **) { std::vector<char> v(1 << 30, n); return v[n] - 1; }";
    for (code, expected, result) in [
        (double, "42\n", "success"),
        (double, "43\n", "wrong_answer"),
        ("int main() { return 3; }", "42\n", "runtime_error"),
        ("int main() { for (;;) {} }", "42\n", "timeout"),
        (memory, "", "runtime_error"),
        ("int main() {", "42\n", "compile_error"),
    ] {
        let body = json!({
            "compile_timeout": 2, "run_timeout": 2, "code": code, "stdin": "21",
            "memory_limit_MB": 256, "language": "cpp", "files": {}, "fetch_files": [],
        });
        let (status, reply) = run_code(&service, &body).await;
        assert_eq!(status, 200, "{reply}");
        let (compile, run) = (&reply["compile_result"], &reply["run_result"]);
        let read = if reply["status"] == "Success" && run["status"] == "Finished" {
            let stdout = run["stdout"].as_str().unwrap();
            match stdout.trim_end_matches('\n') == expected.trim_end_matches('\n') {
                true => "success",
                false => "wrong_answer",
            }
        } else if compile["return_code"] != 0 {
            "compile_error"
        } else if run["status"] == "TimeLimitExceeded" {
            "timeout"
        } else {
            assert_ne!(run["return_code"], 0, "{reply}");
            "runtime_error"
        };
        assert_eq!(read, result, "{code}: {reply}");
    }
}

#[tokio::test]
async fn errors_match_the_emulated_server() {
    let service = service().await;
    let (status, reply) = run_code(&service, &json!({"code": "x"})).await;
    assert_eq!(
        (status, reply["detail"][0]["loc"].clone()),
        (422, json!(["body"]))
    );
    assert_eq!(
        run_code(&service, &json!({"code": "x", "language": "cobol"}))
            .await
            .0,
        422
    );
    let (status, reply) = run_code(&service, &json!({"code": "x", "language": "java"})).await;
    assert_eq!(
        (status, reply["status"].clone()),
        (200, json!("SandboxError")),
        "a language that is not available"
    );
    let message = reply["message"].as_str().unwrap();
    let names = ["`python`", "`cpp`", "`nodejs`", "`typescript`", "`pytest`"].join(", ");
    assert_eq!(
        message,
        format!("the language `java` is not available; this node runs {names}")
    );
    assert_eq!(reply["run_result"]["stderr"], message);
}

#[tokio::test]
async fn separates_compile_results_from_run_results() {
    let service = service().await;
    let run = async |language: &str, code: &str| {
        let body = json!({"language": language, "code": code, "stdin": "2 3\n", "run_timeout": 5});
        let (status, reply) = run_code(&service, &body).await;
        assert_eq!(status, 200, "{reply}");
        reply
    };
    let sum = "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\n\
               console.log(a + b);\n";
    let node = run("nodejs", sum).await;
    assert_eq!(
        (&node["status"], &node["compile_result"]),
        (&json!("Success"), &Value::Null),
        "{node}"
    );
    assert_eq!(node["run_result"]["stdout"], "5\n");

    let typed = sum.replace("[a, b]", "[a, b]: number[]");
    let compiled = run("typescript", &typed).await;
    assert_eq!(compiled["status"], "Success", "{compiled}");
    assert_eq!(compiled["run_result"]["stdout"], "5\n");
    assert_eq!(
        compiled["compile_result"],
        json!({
            "status": "Finished", "execution_time": null, "return_code": 0, "stdout": "",
            "stderr": "",
        })
    );

    let failed = run("typescript", "let x: = 1;").await;
    assert_eq!(
        (&failed["status"], &failed["run_result"]),
        (&json!("Failed"), &Value::Null),
        "{failed}"
    );
    let compile = &failed["compile_result"];
    assert_eq!(
        (&compile["status"], &compile["return_code"]),
        (&json!("Finished"), &json!(1))
    );
    let stderr = compile["stderr"].as_str().unwrap();
    assert!(stderr.starts_with("SyntaxError: "), "{stderr}");

    let raised = run("typescript", "let x: number = 1;\nthrow new Error('no');").await;
    assert_eq!(
        (
            &raised["status"],
            &raised["compile_result"]["return_code"],
            &raised["run_result"]["return_code"]
        ),
        (&json!("Failed"), &json!(0), &json!(1)),
        "{raised}"
    );

    let sum = "#include <iostream>\n\
               int main() { long a, b; std::cin >> a >> b; std::cout << a + b << std::endl; }\n";
    let compiled = run("cpp", sum).await;
    assert_eq!(compiled["status"], "Success", "{compiled}");
    assert_eq!(compiled["run_result"]["stdout"], "5\n");
    assert_eq!(compiled["compile_result"]["return_code"], 0);
    let failed = run("cpp", "int main() { return missing; }").await;
    let stderr = failed["compile_result"]["stderr"].as_str().unwrap();
    assert!(
        stderr.contains("undeclared identifier 'missing'"),
        "{stderr}"
    );
    assert_eq!(failed["run_result"], Value::Null);
    let aborted = run("cpp", "#include <cstdlib>\nint main() { std::abort(); }").await;
    assert_eq!(aborted["run_result"]["return_code"], 134, "{aborted}");
}

#[tokio::test]
async fn files_are_sent_and_returned() {
    let service = service().await;
    let content = "wide ".repeat(30);
    let encoded = STANDARD.encode(&content);
    let wrapped = format!("{}\r\n{}\n", &encoded[..76], &encoded[76..]);
    let body = json!({
        "language": "python",
        "code": "open('/tmp/out.txt', 'w').write(open('/tmp/in.txt').read() + open('a/b').read())",
        "files": {"/tmp/in.txt": wrapped, "a/b": STANDARD.encode("b").trim_end_matches('=')},
        "fetch_files": ["/tmp/out.txt", "/tmp/out.txt", "missing"],
    });
    let (status, reply) = run_code(&service, &body).await;
    assert_eq!(
        (status, &reply["status"]),
        (200, &json!("Success")),
        "{reply}"
    );
    assert_eq!(
        reply["files"],
        json!({"/tmp/out.txt": STANDARD.encode(content + "b")})
    );

    let fetch = async |paths: Vec<String>| {
        let body = json!({"language": "python", "code": "", "fetch_files": paths});
        run_code(&service, &body).await.0
    };
    let numbered = |count: usize| -> Vec<String> {
        (0..count).map(|number| format!("{number}.txt")).collect()
    };
    assert_eq!(fetch(numbered(256)).await, 200);
    assert_eq!(fetch(numbered(257)).await, 422);
    assert_eq!(fetch(vec!["0.txt".to_owned(); 1_000]).await, 200);
}

#[tokio::test]
async fn runs_pytest_files_and_exchanges_files() {
    let service = service().await;
    let file = "import helper\n\n\ndef test_double():\n    assert helper.double(2) == 4\n    \
                open('out/log.txt', 'w').write('written')\n";
    let run = async |helper: &str| {
        let body = json!({
            "language": "pytest", "code": file, "run_timeout": 5,
            "files": {"helper.py": STANDARD.encode(helper), "out/empty": "", "unused": null},
            "fetch_files": ["out/log.txt", "missing", "out"],
        });
        let (status, reply) = run_code(&service, &body).await;
        assert_eq!(status, 200, "{reply}");
        reply
    };
    let passed = run("def double(x):\n    return 2 * x\n").await;
    assert_eq!(passed["status"], "Success", "{passed}");
    let stdout = passed["run_result"]["stdout"].as_str().unwrap();
    assert!(stdout.contains("1 passed"), "{stdout}");
    assert_eq!(
        passed["files"],
        json!({"out/log.txt": STANDARD.encode("written")})
    );
    let failed = run("def double(x):\n    return x\n").await;
    assert_eq!(
        (&failed["status"], &failed["run_result"]["return_code"]),
        (&json!("Failed"), &json!(1))
    );
    let stdout = failed["run_result"]["stdout"].as_str().unwrap();
    assert!(
        stdout.contains("assert 2 == 4"),
        "asserts are explained: {stdout}"
    );
    assert_eq!(failed["files"], json!({}));

    let body = |files: Value| json!({"language": "python", "code": "print(1)", "files": files});
    let (status, reply) = run_code(&service, &body(json!({"a": "?"}))).await;
    assert_eq!(status, 422, "{reply}");
    for path in ["../a", "./a"] {
        let (status, reply) = run_code(&service, &body(json!({path: ""}))).await;
        assert_eq!(
            (status, reply["status"].clone()),
            (200, json!("SandboxError")),
            "{reply}"
        );
    }
}
