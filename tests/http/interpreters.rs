//! Interpreter sessions over HTTP, with real workers.

use std::path::Path;

use assay_node::config::Config;
use assay_record::access::{Quotas, Role};
use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::http::access::Keyed;
use crate::http::fixtures::{Got, Service, service, service_with};

async fn open_with(service: &Service, request: &Value) -> String {
    let got = service.post("/v1/sessions", request).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text());
    got.json()["id"].as_str().unwrap().to_owned()
}

async fn open(service: &Service) -> String {
    open_with(service, &json!({ "language": "python", "seed": 7 })).await
}

async fn run(service: &Service, id: &str, call: &Value) -> Value {
    let got = service.post(&format!("/v1/sessions/{id}/run"), call).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text());
    got.json()
}

/// The value of the last expression of some code.
async fn value(service: &Service, id: &str, code: &str) -> String {
    let reply = run(service, id, &json!({ "code": code })).await;
    let value = reply["value"].as_str();
    value.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

async fn delete(service: &Service, path: &str) -> Got {
    let request = Request::delete(path).body(Body::empty()).unwrap();
    service.send(request).await
}

#[tokio::test]
async fn a_namespace_lives_across_calls() {
    let service = service().await;
    let id = open(&service).await;
    let reply = run(
        &service,
        &id,
        &json!({ "code": "x = 20\nprint('hello')\nx + 1" }),
    )
    .await;
    assert_eq!(reply["outcome"], "ok");
    assert_eq!(reply["value"], "21");
    assert_eq!(reply["stdout"], "hello\n");
    assert_eq!(reply["kept"], true);
    assert!(reply["work"].as_u64().unwrap() > 0);
    let reply = run(
        &service,
        &id,
        &json!({ "code": "def f():\n    return x / 0\nf()" }),
    )
    .await;
    assert_eq!(reply["outcome"], "exception");
    let exception = &reply["exception"];
    assert_eq!(exception["message"], "ZeroDivisionError: division by zero");
    assert_eq!(exception["line"], 2);
    assert!(
        exception["traceback"]
            .as_str()
            .unwrap()
            .contains("<call 2>")
    );
    let fetching = json!({
        "code": "open('out/a.txt', 'w').write(open('in.txt').read() + input())\nimport sys\nsys.exit(x)",
        "files": { "in.txt": "given ", "out/b.bin": { "base64": "AP8=" } },
        "fetch": ["out/a.txt", "out/b.bin", "missing"],
        "stdin": "typed\n",
    });
    let reply = run(&service, &id, &fetching).await;
    assert_eq!(
        (&reply["outcome"], &reply["exit_status"]),
        (&json!("exited"), &json!(20))
    );
    let files = json!({ "out/a.txt": "given typed", "out/b.bin": { "base64": "AP8=" } });
    assert_eq!(reply["files"], files);
    assert_eq!(reply["call"], 3);
    let got = service
        .get(&format!("/v1/sessions/{id}/files/out%2Fa.txt"))
        .await;
    assert_eq!(got.text(), "given typed");
    assert_eq!(
        got.headers[header::CONTENT_TYPE],
        "application/octet-stream"
    );
    let got = service
        .get(&format!("/v1/sessions/{id}/files/missing"))
        .await;
    assert_eq!(got.status, StatusCode::NOT_FOUND);
    let body = service.get(&format!("/v1/sessions/{id}")).await.json();
    assert_eq!(
        (&body["calls"], &body["state"]),
        (&json!(3), &json!("memory"))
    );
    assert_eq!(body["remaining"], reply["remaining"]);
    let ended = delete(&service, &format!("/v1/sessions/{id}")).await.json();
    assert_eq!(ended, json!({ "id": id, "calls": 3 }));
    let got = service.get(&format!("/v1/sessions/{id}")).await;
    assert_eq!(got.refusal().1, "not_found");
}

#[tokio::test]
async fn javascript_keeps_its_global_scope() {
    let service = service().await;
    let id = open_with(&service, &json!({ "language": "javascript" })).await;
    assert_eq!(value(&service, &id, "let x = 20; x + 1").await, "21");
    let reply = run(&service, &id, &json!({ "code": "x = 5\nnull.f()" })).await;
    let exception = &reply["exception"];
    assert!(
        exception["message"]
            .as_str()
            .unwrap()
            .starts_with("TypeError"),
        "{reply}"
    );
    assert_eq!(exception["line"], 2);
    assert_eq!(value(&service, &id, "x").await, "5");
}

#[tokio::test]
async fn programs_in_c_and_cpp_share_the_files_of_a_session() {
    let service = service().await;
    let id = open_with(&service, &json!({ "language": "c++20" })).await;
    let header = json!({ "twice.hpp": "auto twice(auto x) { return x + x; }" });
    let code = "#include <cstdio>\n#include \"twice.hpp\"\nint main() {\n    \
                auto file = std::fopen(\"n\", \"w\");\n    std::fprintf(file, \"%d\", \
                twice(21));\n    std::puts(\"written\");\n}";
    let reply = run(&service, &id, &json!({ "code": code, "files": header })).await;
    assert_eq!(
        (&reply["outcome"], &reply["stdout"], &reply["value"]),
        (&json!("ok"), &json!("written\n"), &Value::Null),
        "{reply}"
    );
    let code = "#include <fstream>\n#include <iostream>\nint main() {\n    int n;\n    \
                std::ifstream(\"n\") >> n;\n    std::cout << n;\n    return n / 6;\n}";
    let reply = run(&service, &id, &json!({ "code": code })).await;
    assert_eq!(
        (&reply["outcome"], &reply["exit_status"], &reply["stdout"]),
        (&json!("exited"), &json!(7), &json!("42"))
    );
    let reply = run(
        &service,
        &id,
        &json!({ "code": "int main() {\n    return n;\n}" }),
    )
    .await;
    let exception = &reply["exception"];
    assert_eq!(exception["message"], "use of undeclared identifier 'n'");
    assert_eq!(
        (&exception["line"], &reply["kept"]),
        (&json!(2), &json!(true))
    );
    let endless = json!({ "code": "int main() { for (;;) {} }", "seconds": 0.1 });
    let reply = run(&service, &id, &endless).await;
    assert_eq!(
        (&reply["outcome"], &reply["kept"]),
        (&json!("out_of_work"), &json!(false))
    );
    let got = service.get(&format!("/v1/sessions/{id}/files/n")).await;
    assert_eq!(got.text(), "42");
    let log = service.get(&format!("/v1/sessions/{id}/log")).await.json();
    assert_eq!(log["language"], "c++20");
    let replayed = service.post("/v1/sessions/replay", &log).await.json();
    assert_eq!(
        (&replayed["equal"], &replayed["calls"]),
        (&json!(true), &json!(4))
    );

    let id = open_with(&service, &json!({ "language": "c" })).await;
    let code =
        "#include <stdio.h>\nint main(void) { int *class = 0; return printf(\"%d\", !class); }";
    let reply = run(&service, &id, &json!({ "code": code })).await;
    assert_eq!(
        (&reply["exit_status"], &reply["stdout"]),
        (&json!(1), &json!("1"))
    );
    for language in ["c++2000", "typescript"] {
        let request = json!({ "language": language });
        let got = service.post("/v1/sessions", &request).await;
        assert_eq!(got.status, StatusCode::UNPROCESSABLE_ENTITY, "{language}");
        assert!(
            got.text().contains("`python`, `javascript`, `cpp`, `c`"),
            "{}",
            got.text()
        );
    }
}

#[tokio::test]
async fn limits_are_enforced_and_budgets_are_reported() {
    let service = service().await;
    let limits = json!({
        "seconds": 0.5, "total_seconds": 0.8, "calls": 4, "output_kb": 1, "memory_mb": 128,
    });
    let request = json!({ "language": "python", "limits": limits });
    let id = open_with(&service, &request).await;
    run(&service, &id, &json!({ "code": "x = 1" })).await;
    let reply = run(&service, &id, &json!({ "code": "x = 2\nwhile True: pass" })).await;
    assert_eq!(
        (&reply["outcome"], &reply["kept"]),
        (&json!("out_of_work"), &json!(false))
    );
    assert!(
        (reply["seconds"].as_f64().unwrap() - 0.5).abs() < 0.01,
        "{reply}"
    );
    let reply = run(&service, &id, &json!({ "code": "print('a' * 2000)" })).await;
    assert_eq!(reply["outcome"], "out_of_output");
    assert_eq!(reply["remaining"]["calls"], 1);
    let left = reply["remaining"]["seconds"].as_f64().unwrap();
    assert!(left > 0.0 && left < 0.3, "{reply}");
    assert_eq!(value(&service, &id, "x").await, "1");
    let got = service
        .post(&format!("/v1/sessions/{id}/run"), &json!({ "code": "x" }))
        .await;
    assert_eq!(got.refusal(), (409, "session_exhausted".to_owned(), None));
    let request = json!({ "language": "python", "limits": { "memory_mb": 96 } });
    let id = open_with(&service, &request).await;
    let reply = run(&service, &id, &json!({ "code": "y = 'a' * (1 << 30)" })).await;
    assert_eq!(reply["outcome"], "out_of_memory");
}

#[tokio::test]
async fn invalid_requests_name_the_field() {
    let service = service().await;
    let id = open(&service).await;
    let run = format!("/v1/sessions/{id}/run");
    let fork = format!("/v1/sessions/{id}/fork");
    for (path, body, pointer) in [
        ("/v1/sessions", json!({ "language": "cobol" }), "/language"),
        (
            "/v1/sessions",
            json!({ "language": "python", "image": "cpp" }),
            "/image",
        ),
        (
            "/v1/sessions",
            json!({ "language": "python", "colour": 1 }),
            "/colour",
        ),
        (
            "/v1/sessions",
            json!({ "language": "python", "limits": { "seconds": 0 } }),
            "/limits/seconds",
        ),
        (
            "/v1/sessions",
            json!({ "language": "python", "files": { "../a": "" } }),
            "/files/..~1a",
        ),
        (
            run.as_str(),
            json!({ "code": "1", "seconds": -1 }),
            "/seconds",
        ),
        (
            run.as_str(),
            json!({ "code": "1", "fetch": ["a", "/"] }),
            "/fetch/1",
        ),
        (fork.as_str(), json!({ "count": 257 }), "/count"),
        (
            "/v1/sessions/run",
            json!({ "calls": [{ "session": id }] }),
            "/calls/0",
        ),
    ] {
        let got = service.post(path, &body).await;
        let refusal = (422, "invalid_field".to_owned(), Some(pointer.to_owned()));
        assert_eq!(got.refusal(), refusal, "{path} {body}");
    }
    let got = service
        .post("/v1/sessions/run", &json!({ "calls": [] }))
        .await;
    assert_eq!(got.refusal().1, "empty_batch");
}

#[tokio::test]
async fn forks_continue_from_the_same_state() {
    let service = service().await;
    let id = open(&service).await;
    value(
        &service,
        &id,
        "import random\nvalues = [1]\nrandom.random()",
    )
    .await;
    let got = service
        .post(&format!("/v1/sessions/{id}/fork"), &json!({ "count": 2 }))
        .await;
    let forks = got.json()["sessions"].clone();
    let fork = |at: usize| forks[at]["id"].as_str().unwrap().to_owned();
    assert_eq!(forks[1]["forked_from"], json!(id));
    let draw = "values.append(len(values) + 1)\nrandom.random(), values";
    let [one, two] = [fork(0), fork(1)];
    let first = value(&service, &one, draw).await;
    assert_eq!(value(&service, &two, draw).await, first);
    value(&service, &one, draw).await;
    assert_eq!(value(&service, &one, "values").await, "[1, 2, 3]");
    assert_eq!(value(&service, &two, "values").await, "[1, 2]");
    assert_eq!(value(&service, &id, "values").await, "[1]");
}

#[tokio::test]
async fn callers_do_not_see_the_sessions_of_others() {
    let keyed = Keyed::start().await;
    let other = keyed
        .create("other", Role::Trainer, Quotas::default())
        .await;
    let trainer = keyed.key(Role::Trainer);
    let opening = json!({ "language": "python" });
    let post = |key, path: String, body: Value| {
        let keyed = &keyed;
        async move { keyed.send(key, Method::POST, &path, &body).await }
    };
    let opened = post(trainer, "/v1/sessions".to_owned(), opening)
        .await
        .json();
    let id = opened["id"].as_str().unwrap();
    assert_eq!(opened["caller"], "trainer");
    let path = |rest: &str| format!("/v1/sessions/{id}{rest}");
    for (method, rest, body) in [
        (Method::GET, "", Value::Null),
        (Method::GET, "/log", Value::Null),
        (Method::GET, "/files/a", Value::Null),
        (Method::POST, "/run", json!({ "code": "1" })),
        (Method::POST, "/fork", json!({})),
        (Method::DELETE, "", Value::Null),
    ] {
        let got = keyed.send(&other, method.clone(), &path(rest), &body).await;
        assert_eq!(got.refusal().1, "not_found", "{method} {rest}");
    }
    let batch = json!({ "calls": [{ "session": id, "run": { "code": "1" } }] });
    let got = post(&other, "/v1/sessions/run".to_owned(), batch)
        .await
        .json();
    assert_eq!(got["results"][0]["error"]["code"], "not_found");
    let listed = |key| {
        let keyed = &keyed;
        async move {
            let got = keyed.get(key, "/v1/sessions").await.json();
            got["sessions"].as_array().unwrap().len()
        }
    };
    assert_eq!(listed(&other).await, 0);
    assert_eq!(listed(trainer).await, 1);
    assert_eq!(listed(keyed.key(Role::Operator)).await, 1);
    let got = keyed.get(keyed.key(Role::Checker), "/v1/sessions").await;
    assert!(got.status == StatusCode::FORBIDDEN || got.json()["sessions"] == json!([]));
    let got = keyed.get(keyed.key(Role::Operator), &path("")).await;
    assert_eq!(got.json()["calls"], 0);
    let operator = keyed.key(Role::Operator);
    keyed
        .send(operator, Method::DELETE, &path(""), &Value::Null)
        .await;
    let audit = keyed.get(operator, "/v1/audit?limit=1").await.json();
    let entry = &audit["entries"][0];
    assert_eq!(entry["action"], "session.end");
    assert_eq!(entry["target"], json!(id));
    assert_eq!(entry["details"], json!({ "caller": "trainer" }));
}

#[tokio::test]
async fn a_batch_runs_calls_of_many_sessions() {
    let service = service().await;
    let (one, two) = (open(&service).await, open(&service).await);
    let call = |id: &str, code: &str| json!({ "session": id, "run": { "code": code } });
    let batch = json!({ "calls": [
        call(&one, "x = 1"),
        call(&two, "x = 10"),
        call("01JD5XW7P9V6F8K4M3N2Q1R0ST", "1"),
        call(&one, "x + 1"),
        call(&two, "x + 1"),
        { "session": one, "run": { "code": "1", "seconds": 0 } },
    ] });
    let reply = service.post("/v1/sessions/run", &batch).await.json();
    let results = reply["results"].as_array().unwrap();
    let of = |at: usize| {
        (
            &results[at]["reply"]["value"],
            &results[at]["error"]["code"],
        )
    };
    assert_eq!(of(3).0, "2");
    assert_eq!(of(4).0, "11");
    assert_eq!(of(2).1, "not_found");
    assert_eq!(results[5]["error"]["pointer"], "/calls/5/run/seconds");
    let request = Request::post("/v1/sessions/run")
        .header(header::ACCEPT, "application/x-ndjson")
        .body(Body::from(batch.to_string()))
        .unwrap();
    let got = service.send(request).await;
    assert_eq!(got.headers[header::CONTENT_TYPE], "application/x-ndjson");
    let text = got.text();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut indexes: Vec<_> = lines
        .iter()
        .map(|line| line["index"].as_u64().unwrap())
        .collect();
    let position = |index| indexes.iter().position(|found| *found == index);
    assert!(
        position(0) < position(3) && position(1) < position(4),
        "{indexes:?}"
    );
    indexes.sort_unstable();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
    let calls = lines.iter().find(|line| line["index"] == 3).unwrap();
    assert_eq!(calls["reply"]["call"], 4);
}

#[tokio::test]
async fn a_log_is_replayed_with_every_output() {
    let service = service().await;
    let request = json!({ "language": "python", "seed": 3, "files": { "a": "1" } });
    let id = open_with(&service, &request).await;
    for code in [
        "import os, time\nclass A: n = 0\ng = (i * i for i in range(9))",
        "print(os.urandom(4), time.time(), next(g)); next(g)",
        "A.n += 1; A.n, open('a').read()",
        "1 / 0",
        "while True: pass",
        "A.n, next(g)",
    ] {
        run(&service, &id, &json!({ "code": code, "seconds": 0.2 })).await;
    }
    let log = service.get(&format!("/v1/sessions/{id}/log")).await.json();
    assert_eq!(log["calls"].as_array().unwrap().len(), 6);
    assert_eq!(log["files"], json!({ "a": "1" }));
    delete(&service, &format!("/v1/sessions/{id}")).await;
    let other = service_with(|_| {}).await;
    let replay = other.post("/v1/sessions/replay", &log).await.json();
    assert_eq!(replay["equal"], true, "{replay}");
    assert_eq!(
        (&replay["calls"], &replay["same_image"]),
        (&json!(6), &json!(true))
    );
    let mut changed = log.clone();
    changed["seed"] = json!(4);
    let replay = other.post("/v1/sessions/replay", &changed).await.json();
    assert_eq!(replay["equal"], false);
    assert_eq!(replay["difference"]["call"], 2);
    assert_eq!(replay["difference"]["field"], "output_hash");
}

/// A node whose sessions are in this folder, with little memory for them.
async fn in_folder(folder: &Path) -> Service {
    let configure = |config: &mut Config| {
        config.sessions.folder = folder.to_owned();
        config.sessions.memory_bytes = 1;
    };
    service_with(configure).await
}

#[tokio::test]
async fn sessions_outlive_their_node() {
    let folder = tempfile::tempdir().unwrap();
    let service = in_folder(folder.path()).await;
    let (kept, damaged, new) = (
        open(&service).await,
        open(&service).await,
        open(&service).await,
    );
    for id in [&kept, &damaged] {
        run(
            &service,
            id,
            &json!({ "code": "import random\nx = random.random()" }),
        )
        .await;
        value(&service, id, "x").await;
    }
    value(&service, &damaged, "y = 1; x").await;
    let body = service.get(&format!("/v1/sessions/{kept}")).await.json();
    assert_eq!(body["state"], "disk", "beyond the budget of memory");
    let drawn = value(&service, &kept, "x").await;
    drop(service);
    let service = in_folder(folder.path()).await;
    let reply = run(&service, &kept, &json!({ "code": "x" })).await;
    assert_eq!(
        (&reply["value"], &reply["restored"]),
        (&json!(drawn), &json!("frozen"))
    );
    let reply = run(&service, &kept, &json!({ "code": "x" })).await;
    assert_eq!(
        (&reply["call"], &reply["restored"]),
        (&json!(5), &Value::Null)
    );
    assert_eq!(value(&service, &new, "1").await, "1");
    drop(service);
    for file in std::fs::read_dir(folder.path().join("states")).unwrap() {
        std::fs::write(file.unwrap().path(), b"damaged").unwrap();
    }
    let service = in_folder(folder.path()).await;
    let reply = run(&service, &damaged, &json!({ "code": "x, y" })).await;
    assert_eq!(reply["restored"], "replayed");
    assert_eq!(reply["value"], json!(format!("({drawn}, 1)")));
}

#[tokio::test]
async fn open_sessions_are_limited() {
    let service = service_with(|config| config.sessions.per_caller = 1).await;
    let id = open(&service).await;
    let got = service
        .post("/v1/sessions", &json!({ "language": "python" }))
        .await;
    assert_eq!(got.refusal().1, "quota_exceeded");
    assert!(got.headers.contains_key(header::RETRY_AFTER));
    assert!(got.text().contains("sessions.per_caller"), "{}", got.text());
    delete(&service, &format!("/v1/sessions/{id}")).await;
    open(&service).await;
}

#[tokio::test]
async fn pages_show_sessions_and_end_them() {
    let service = service().await;
    let empty = service.get("/ui/sessions").await.text();
    assert!(empty.contains("No interpreter session is open"), "{empty}");
    let named = json!({ "language": "python", "name": "rollout <17>" });
    let id = open_with(&service, &named).await;
    run(&service, &id, &json!({ "code": "x = '<b>'\nx" })).await;
    run(&service, &id, &json!({ "code": "x / 0" })).await;
    let address = format!("/ui/sessions/{id}");
    let list = service.get("/ui/sessions").await.text();
    assert!(list.contains(&format!("href=\"{address}\"")), "{list}");
    assert!(list.contains("rollout &#60;17&#62;"), "{list}");
    let page = service.get(&address).await.text();
    assert!(page.contains("x = &#39;&#60;b&#62;&#39;"), "{page}");
    let second = page.find("<span class=\"bad\">exception").unwrap();
    assert!(second < page.find("<span>ok").unwrap(), "{page}");
    let end = Request::post(format!("{address}/end"));
    let ended = service.send(end.body(Body::empty()).unwrap()).await;
    assert_eq!(ended.headers["location"], "/ui/sessions");
    assert_eq!(service.get(&address).await.status, StatusCode::NOT_FOUND);
    assert_eq!(
        service.get("/ui/sessions?after=x").await.status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn opening_a_name_again_returns_its_session() {
    let service = service().await;
    let request = json!({ "language": "python", "name": "rollout-1", "seed": 7 });
    let id = open_with(&service, &request).await;
    value(&service, &id, "x = 5; x").await;
    assert_eq!(open_with(&service, &request).await, id);
    assert_eq!(value(&service, &id, "x").await, "5");
    let other = json!({ "language": "python", "name": "rollout-1", "seed": 8 });
    let (status, code, pointer) = service.post("/v1/sessions", &other).await.refusal();
    assert_eq!((status, code.as_str()), (422, "invalid_field"));
    assert_eq!(pointer.as_deref(), Some("/name"));
    let too_long = json!({ "language": "python", "name": "n".repeat(257) });
    let got = service.post("/v1/sessions", &too_long).await;
    assert_eq!(got.refusal().2.as_deref(), Some("/name"));
    let fork = service
        .post(&format!("/v1/sessions/{id}/fork"), &json!({}))
        .await;
    assert_eq!(fork.json()["sessions"][0]["name"], Value::Null);
    delete(&service, &format!("/v1/sessions/{id}")).await;
    assert_ne!(open_with(&service, &request).await, id);
}

#[tokio::test]
async fn random_numbers_follow_the_seed() {
    let service = service().await;
    for (language, image, code) in [
        ("python", "python", "import random; random.random()"),
        (
            "python",
            "python-scientific",
            "import numpy as np; [np.random.rand(), np.random.default_rng().random()]",
        ),
        ("javascript", "javascript", "Math.random()"),
    ] {
        let mut drawn = Vec::new();
        for seed in [7, 7, 8] {
            let request = json!({ "language": language, "image": image, "seed": seed });
            let id = open_with(&service, &request).await;
            drawn.push(value(&service, &id, code).await);
        }
        assert_eq!(drawn[0], drawn[1], "{image}");
        assert_ne!(drawn[0], drawn[2], "{image}");
    }
}
