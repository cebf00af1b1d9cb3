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

/// A request of open-r1's client for one test of a problem: `score_single_test_case` of its
/// `competitive_programming/cf_scoring.py`, sent by `send_execute` of `piston_client.py`.
fn codeforces(
    language: &str,
    submission: &str,
    test: (&str, &str),
    checker: Option<&str>,
) -> Value {
    let name = if language == "cf_python3" {
        "main.python"
    } else {
        "main.cpp"
    };
    let mut files = vec![json!({"name": name, "content": submission})];
    if let Some(checker) = checker {
        files.push(json!({"name": "checker.py", "content": checker}));
    }
    files.extend([
        json!({"name": "input.txt", "content": test.0}),
        json!({"name": "correct_output.txt", "content": test.1}),
        json!({
            "name": "grader_config",
            "content": "TIME_LIMIT=2.0\nMEMORY_LIMIT=256.0\nINPUT_MODE=stdio",
        }),
    ]);
    json!({"files": files, "run_timeout": 5000.0, "language": language, "version": "*"})
}

/// How that client reads a reply: `None` if the program does not compile, else whether it passes.
fn passes(reply: &Value) -> Option<bool> {
    if reply["compile"]["code"].as_i64().unwrap() != 0 {
        return None;
    }
    let stderr = reply["run"]["stderr"].as_str().unwrap();
    assert!(!stderr.contains("Resource temporarily unavailable"));
    let stdout = reply["run"]["stdout"].as_str().unwrap();
    Some(reply["run"]["code"] == 0 && stdout.trim() == "1")
}

#[tokio::test]
async fn grades_requests_for_codeforces() {
    let service = service().await;
    let double = "#include <bits/stdc++.h>\nusing namespace std;\n\
                  int main() { int n; cin >> n; cout << 2 * n; }\n";
    let test = ("21\n", "42\n");
    for (language, submission, test, expected) in [
        ("c++17", double, test, Some(true)),
        ("c++17", double, ("21\n", "43\n"), Some(false)),
        ("cf_c++17", double, test, Some(true)),
        (
            "cf_c++20",
            "#include <bits/stdc++.h>\nint main() { std::span<int> s; puts(\"42\"); }",
            test,
            Some(true),
        ),
        ("c++17", "int main() { return missing; }", test, None),
        // What the program prints is not the verdict, and it cannot read the expected output.
        (
            "c++17",
            "#include <cstdio>\nint main() { puts(\"1\"); }",
            test,
            Some(false),
        ),
        (
            "c++17",
            "#include <cstdio>\nint main() { int n; FILE *f = fopen(\"correct_output.txt\", \"r\");\n\
             if (!f) return 3; fscanf(f, \"%d\", &n); printf(\"%d\", n); }",
            test,
            Some(false),
        ),
        ("c++17", "int main() { for (;;) {} }", test, Some(false)),
        (
            "c++17",
            "#include <cstdio>\nint main() { puts(\"42\"); return 1; }",
            test,
            Some(false),
        ),
        ("cf_python3", "print(2 * int(input()))", test, Some(true)),
        ("cf_python3", "print(int(input()))", test, Some(false)),
    ] {
        let mut body = codeforces(language, submission, test, None);
        if submission.contains("for (;;)") {
            body["run_timeout"] = json!(500);
        }
        let reply = execute(&service, &body).await;
        assert_eq!(passes(&reply), expected, "{submission}: {reply}");
    }
}

#[tokio::test]
async fn checkers_of_codeforces_requests_decide() {
    let service = service().await;
    let checker = "\
import sys
n = int(open(sys.argv[1]).read())
assert open(sys.argv[2]).read().strip() == 'any'
a, b = map(int, open(sys.argv[3]).read().split())
print(1 if a + b == n else 0)
";
    let test = ("10\n", "any\n");
    for (printed, expected) in [("3 7", true), ("4 6", true), ("4 7", false), ("1", false)] {
        let program = format!("#include <cstdio>\nint main() {{ puts(\"{printed}\"); }}");
        let body = codeforces("c++17", &program, test, Some(checker));
        let reply = execute(&service, &body).await;
        assert_eq!(passes(&reply), Some(expected), "{printed}: {reply}");
    }
    let mut files = codeforces("c++17", "int main() {}", test, None);
    files["files"][1]["name"] = json!("other.txt");
    let message = refused(&service, &files).await;
    assert!(message.contains("not `input.txt`"), "{message}");
}

#[tokio::test]
async fn programs_of_codeforces_requests_use_files() {
    let service = service().await;
    let program = "#include <fstream>\nint main() { int n; std::ifstream(\"input.txt\") >> n;\n\
                   std::ofstream(\"output.txt\") << 2 * n << '\\n'; }\n";
    let mut body = codeforces("c++17", program, ("21\n", "42\n"), None);
    let at = body["files"].as_array().unwrap().len() - 1;
    body["files"][at]["content"] = json!("TIME_LIMIT=1\nMEMORY_LIMIT=64\nINPUT_MODE=file");
    assert_eq!(passes(&execute(&service, &body).await), Some(true));
}

/// A request of the same client for one test of a problem of the IOI: `run_submission` of its
/// `competitive_programming/ioi_scoring.py`.
fn ioi(task_type: &str, submission: &str, expected: &str, checker: Option<&str>) -> Value {
    let configuration = json!({"task_type": task_type, "code": "sum", "time_limit": 2.0,
        "memory_limit": 268_435_456});
    let grader = "#include \"sum.h\"\n#include <cstdio>\nstatic int numbers[2];\n\
                  int main() { scanf(\"%d %d\", numbers, numbers + 1);\n\
                  printf(\"%d\\n\", sum(numbers[0], numbers[1])); }\n";
    let mut files = vec![
        json!({"name": "graders/sum.cpp", "content": submission}),
        json!({"name": "input.txt", "content": "2 3\n"}),
        json!({"name": "correct_output.txt", "content": expected}),
        json!({"name": "graders/grader.cpp", "content": grader}),
        json!({"name": "graders/sum.h", "content": "int sum(int a, int b);\n"}),
        json!({"name": "graders/grader_config.json", "content": configuration.to_string()}),
    ];
    if let Some(checker) = checker {
        files.push(json!({"name": "checker/checker.cpp", "content": checker}));
    }
    json!({"files": files, "run_timeout": 5_000, "run_memory_limit": 268_435_456,
        "language": "cms_ioi", "version": "*"})
}

/// How that client reads a reply: the score and the feedback (`execute_ioi`).
fn score(reply: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (compile, run) = (&reply["compile"], &reply["run"]);
    if compile["code"] != 0 {
        return (
            "0".to_owned(),
            format!("Compilation error {}", text(&compile["stderr"])),
        );
    }
    if run["code"] == 1 && text(&run["stderr"]).contains("MemoryError") {
        return ("0".to_owned(), "Memory limit exceeded".to_owned());
    }
    (text(&run["stdout"]), text(&run["stderr"]))
}

#[tokio::test]
async fn grades_requests_for_the_ioi() {
    let service = service().await;
    let header = "#include \"sum.h\"\nstatic int numbers[2];\n";
    for (body, expected, feedback) in [
        (
            "int sum(int a, int b) { return a + b; }",
            1.0,
            "Output is correct",
        ),
        (
            "int sum(int a, int b) { return a - b; }",
            0.0,
            "Output isn't correct",
        ),
        (
            "int sum(int a, int b) { return missing; }",
            0.0,
            "Compilation error sum.cpp:3:32:",
        ),
        (
            "int add(int a, int b) { return a + b; }",
            0.0,
            "Compilation error",
        ),
        (
            "#include <cstdlib>\nint sum(int, int) { std::exit(3); }",
            0.0,
            "exit code 3",
        ),
        (
            "#include <vector>\nint sum(int, int) { return std::vector<long>(1 << 26, 1)[5]; }",
            0.0,
            "Memory limit exceeded",
        ),
        (
            "int sum(int a, int b) { for (volatile int i = 0;; i = i + 1) {} }",
            0.0,
            "Time limit exceeded",
        ),
        (
            "#include <cstdio>\nint sum(int a, int b) { fclose(stdout); return a + b; }",
            0.0,
            "Output isn't correct",
        ),
        (
            "#ifndef EVAL\n#error\n#endif\nint sum(int a, int b) { return a + b; }",
            1.0,
            "Output is correct",
        ),
    ] {
        let mut request = ioi("Batch", &format!("{header}{body}\n"), "5\n", None);
        if body.contains("for (") {
            request["run_timeout"] = json!(500);
        }
        let (points, reason) = score(&execute(&service, &request).await);
        let points: f64 = points.trim().parse().unwrap();
        assert_eq!(
            (points, reason.contains(feedback)),
            (expected, true),
            "{body}: {reason}"
        );
    }
}

#[tokio::test]
async fn checkers_of_the_ioi_score_outputs() {
    let service = service().await;
    let checker = "#include <fstream>\n#include <iostream>\n\
        int main(int count, char **names) {\n\
        int a, b, expected, got; std::ifstream(names[1]) >> a >> b;\n\
        std::ifstream(names[2]) >> expected; std::ifstream(names[3]) >> got;\n\
        std::cout << (count == 4 && got == expected ? 1 : got > a + b ? 0.5 : 0) << std::endl;\n\
        std::cerr << \"checked\" << std::endl; }\n";
    for (offset, expected) in [(0, "1\n"), (1, "0.5\n"), (-1, "0\n")] {
        let submission = format!("int sum(int a, int b) {{ return a + b + {offset}; }}\n");
        let request = ioi("Batch", &submission, "5\n", Some(checker));
        let (points, reason) = score(&execute(&service, &request).await);
        assert_eq!(
            (points.as_str(), reason.as_str()),
            (expected, "checked\n"),
            "{offset}"
        );
    }
    let request = ioi(
        "Batch",
        "int sum(int a, int b) { return 5; }\n",
        "5\n",
        Some("int main("),
    );
    let message = refused(&service, &request).await;
    assert!(
        message.contains("`checker/checker.cpp` does not compile"),
        "{message}"
    );
}

#[tokio::test]
async fn refuses_problems_of_the_ioi_with_managers() {
    let service = service().await;
    let message = refused(&service, &ioi("Communication", "int x;\n", "", None)).await;
    assert!(message.contains("`Communication`"), "{message}");
    let mut request = ioi("Batch", "int x;\n", "5\n", None);
    let files = request["files"].as_array_mut().unwrap();
    files.retain(|file| file["name"] != "graders/grader_config.json");
    let message = refused(&service, &request).await;
    assert!(
        message.contains("not `graders/grader_config.json`"),
        "{message}"
    );
}

#[tokio::test]
async fn the_version_in_a_name_selects_the_standard() {
    let service = service().await;
    let body = |language: &str| {
        program(
            language,
            "#include <span>\nint main() { std::span<int> s; }",
        )
    };
    let reply = execute(&service, &body("c++20")).await;
    assert_eq!(reply["compile"]["code"], 0, "{reply}");
    let reply = execute(&service, &body("c++17")).await;
    assert_eq!(reply["compile"]["code"], 1, "{reply}");
}
