//! Compares the router with the OpenAPI document: every error that the shared layers return is
//! declared on every route, and its body has the declared schema.

use std::collections::BTreeSet;

use assay_documents::{Json, Schema};
use axum::body::Body;
use http::Request;
use http::request::Builder;
use serde_json::{Value, json};

use crate::http::fixtures::{Got, Service, service, service_with};

/// One operation of the document.
struct Operation<'d> {
    document: &'d Value,
    method: String,
    path: String,
    declared: &'d Value,
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(move |(path, methods)| {
        methods
            .as_object()
            .unwrap()
            .iter()
            .map(move |(method, declared)| Operation {
                document,
                method: method.to_uppercase(),
                path: path.clone(),
                declared,
            })
    });
    operations.collect()
}

impl Operation<'_> {
    /// A request with every path parameter set to `value`, and with the required query parameters.
    fn request(&self, value: &str) -> Builder {
        let mut path = String::new();
        for part in self.path.split_inclusive('/') {
            let name = part.trim_end_matches('/');
            path.push_str(&if name.starts_with('{') {
                part.replace(name, value)
            } else {
                part.to_owned()
            });
        }
        let parameters = self.declared["parameters"].as_array().into_iter().flatten();
        let required = parameters
            .filter(|parameter| parameter["in"] == "query" && parameter["required"] == true);
        let query: Vec<_> = required
            .map(|parameter| format!("{}=x", parameter["name"].as_str().unwrap()))
            .collect();
        Request::builder()
            .method(self.method.as_str())
            .uri(format!("{path}?{}", query.join("&")))
    }

    /// The declared response for a status, with references resolved.
    fn response(&self, status: u16) -> Option<&Value> {
        let response = self.declared["responses"].get(status.to_string())?;
        match response["$ref"].as_str() {
            Some(reference) => self.document.pointer(reference.trim_start_matches('#')),
            None => Some(response),
        }
    }

    /// Asserts that a reply matches its declaration.
    fn check(&self, why: &str, got: &Got) {
        let status = got.status.as_u16();
        let place = format!("{} {}: {why}: {status}", self.method, self.path);
        let text = String::from_utf8_lossy(&got.bytes);
        let response = self
            .response(status)
            .unwrap_or_else(|| panic!("{place} is not declared: {text}"));
        if [429, 503, 504].contains(&status) {
            let seconds = got
                .headers
                .get("retry-after")
                .unwrap_or_else(|| panic!("{place}: no `Retry-After`"));
            assert!(
                seconds.to_str().unwrap().parse::<u64>().unwrap() >= 1,
                "{place}: {seconds:?}"
            );
        }
        let Some(content) = response["content"].as_object() else {
            assert!(
                got.bytes.is_empty(),
                "{place}: a body is not declared: {text}"
            );
            return;
        };
        let media = got.headers["content-type"].to_str().unwrap();
        let media = media.split(';').next().unwrap();
        let declared = content
            .get(media)
            .unwrap_or_else(|| panic!("{place}: `{media}` is not declared: {text}"));
        if media != "application/json" {
            return;
        }
        // References start at the root of the document.
        let mut schema = declared["schema"].clone();
        schema["components"] = self.document["components"].clone();
        let schema = Schema::compile(schema, Default::default()).unwrap();
        let violation = schema.violation(&Json::read(&text).unwrap());
        assert!(violation.is_none(), "{place}: {violation:?}: {text}");
    }
}

async fn document(service: &Service) -> Value {
    service.get("/openapi.json").await.json()
}

/// Sends one request to each operation and checks the reply; returns the observed statuses.
async fn provoke(
    service: &Service,
    why: &str,
    only: impl Fn(&Operation<'_>) -> bool,
    change: impl Fn(&Operation<'_>) -> Request<Body>,
) -> BTreeSet<u16> {
    let document = document(service).await;
    let mut statuses = BTreeSet::new();
    let mut requests = 0;
    for operation in operations(&document)
        .iter()
        .filter(|operation| only(operation))
    {
        let got = service.send(change(operation)).await;
        operation.check(why, &got);
        statuses.insert(got.status.as_u16());
        requests += 1;
    }
    assert!(requests > 0, "no operation was requested: {why}");
    statuses
}

fn any(_: &Operation<'_>) -> bool {
    true
}

fn reads_body(operation: &Operation<'_>) -> bool {
    operation.declared.get("requestBody").is_some()
}

fn has_path_parameter(operation: &Operation<'_>) -> bool {
    operation.path.contains('{')
}

fn empty(builder: Builder) -> Request<Body> {
    builder.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn declares_errors_of_shared_layers_on_every_route() {
    let service = service_with(|config| config.server.body_bytes = 1_000).await;
    let json = |builder: Builder| builder.header("content-type", "application/json");
    let foreign = |operation: &Operation<'_>| {
        empty(
            operation
                .request("x")
                .header("origin", "http://evil.example"),
        )
    };
    assert_eq!(
        provoke(&service, "another site", any, foreign).await,
        BTreeSet::from([403])
    );
    let packed = |operation: &Operation<'_>| {
        json(operation.request("x"))
            .header("content-encoding", "br")
            .body(Body::from("{}"))
    };
    assert_eq!(
        provoke(&service, "an unknown encoding", any, |operation| packed(
            operation
        )
        .unwrap())
        .await,
        BTreeSet::from([415])
    );
    let csv = |operation: &Operation<'_>| {
        operation
            .request("x")
            .header("content-type", "text/csv")
            .body(Body::from("a"))
    };
    let seen = provoke(&service, "an unknown type", reads_body, |operation| {
        csv(operation).unwrap()
    })
    .await;
    assert!(seen.contains(&415), "{seen:?}");
    let long = |operation: &Operation<'_>| {
        json(operation.request("x")).body(Body::from(format!("\"{}\"", "x".repeat(2_000))))
    };
    let seen = provoke(&service, "a large body", reads_body, |operation| {
        long(operation).unwrap()
    })
    .await;
    assert!(seen.contains(&413), "{seen:?}");
    let broken = |operation: &Operation<'_>| json(operation.request("x")).body(Body::from("{"));
    let seen = provoke(&service, "not JSON", reads_body, |operation| {
        broken(operation).unwrap()
    })
    .await;
    assert!(seen.contains(&400) && seen.contains(&422), "{seen:?}");
}

#[tokio::test]
async fn declares_replies_to_well_formed_requests() {
    let service = service().await;
    let json = |operation: &Operation<'_>, value: &str, body: &str| {
        let request = operation
            .request(value)
            .header("content-type", "application/json");
        request.body(Body::from(body.to_owned())).unwrap()
    };
    let unknown = "00000000000000000000000000";
    for value in ["x", unknown, "%00", "%FF", "a%2Fb"] {
        let seen = provoke(&service, value, has_path_parameter, |operation| {
            json(operation, value, "{}")
        })
        .await;
        assert!(
            seen.contains(&400) || seen.contains(&404),
            "{value}: {seen:?}"
        );
    }
    for body in [
        "{}",
        "[]",
        "null",
        "\"\"",
        "{\"items\":[]}",
        "{\"query\":[],\"input\":[],\"inputs\":[],\"texts\":[]}",
    ] {
        provoke(&service, body, any, |operation| {
            json(operation, unknown, body)
        })
        .await;
    }
    let wrong = |operation: &Operation<'_>| {
        let request = operation.request(unknown);
        let uri = request.uri_ref().unwrap().to_string();
        empty(request.uri(format!("{uri}&limit=0&steps=-1&no-such-parameter=1")))
    };
    let reads_query = |operation: &Operation<'_>| {
        operation.declared["parameters"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["in"] == "query"))
    };
    assert_eq!(
        provoke(&service, "a wrong query", reads_query, wrong).await,
        BTreeSet::from([400])
    );
}

#[tokio::test]
async fn declares_replies_while_shutting_down() {
    let service = service().await;
    service
        .node
        .engine()
        .shut_down(std::time::Duration::from_secs(5))
        .await;
    let bodies = [
        "{}",
        r#"{"items":[{"completion":"1","task":{"type":"math","answer":"1"}}]}"#,
    ];
    for body in bodies {
        let send = |operation: &Operation<'_>| {
            let request = operation
                .request("x")
                .header("content-type", "application/json");
            request.body(Body::from(body.to_owned())).unwrap()
        };
        assert!(
            provoke(&service, "shutting down", any, send)
                .await
                .contains(&503)
        );
    }
}

#[tokio::test]
async fn declares_errors_while_too_much_is_in_flight() {
    const ROOM: usize = 1 << 20;
    let service = service_with(|config| config.engine.body_bytes_in_flight = ROOM).await;
    let mut held = service.node.engine().admission().memory(&"others".into());
    held.count(ROOM);
    let send = |operation: &Operation<'_>| {
        let request = operation
            .request("x")
            .header("content-type", "application/json");
        request
            .body(Body::from(
                json!({ "code": "1", "language": "python" }).to_string(),
            ))
            .unwrap()
    };
    let seen = provoke(&service, "full", reads_body, send).await;
    assert!(
        [429, 503, 504].iter().all(|status| seen.contains(status)),
        "{seen:?}"
    );
}

#[tokio::test]
async fn rejects_undeclared_methods_and_lists_declared_ones() {
    let service = service().await;
    let document = document(&service).await;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let methods: BTreeSet<String> = methods
            .as_object()
            .unwrap()
            .keys()
            .map(|name| name.to_uppercase())
            .collect();
        let operations = operations(&document);
        let operation = operations
            .iter()
            .find(|operation| operation.path == *path)
            .unwrap();
        for method in [
            "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE",
        ] {
            // A GET answers HEAD as well (RFC 9110, section 9.3.2).
            if methods.contains(method) || (method == "HEAD" && methods.contains("GET")) {
                continue;
            }
            let got = service
                .send(empty(operation.request("x").method(method)))
                .await;
            assert_eq!(got.status, 405, "{method} {path}");
            let allow = got
                .headers
                .get("allow")
                .unwrap_or_else(|| panic!("{method} {path}: no `Allow`"));
            let allowed: BTreeSet<String> = allow
                .to_str()
                .unwrap()
                .split(',')
                .map(|one| one.trim().to_owned())
                .collect();
            let mut expected = methods.clone();
            if expected.contains("GET") {
                expected.insert("HEAD".to_owned());
            }
            assert_eq!(allowed, expected, "{method} {path}");
            // The reply to a HEAD has no body.
            if method != "HEAD" {
                operation.check(method, &got);
            }
        }
    }
}

#[tokio::test]
async fn returns_errors_in_the_format_of_the_emulated_server() {
    let service = service().await;
    let foreign = async |path: &str| {
        let got = service
            .send(empty(
                Request::get(path).header("origin", "http://evil.example"),
            ))
            .await;
        assert_eq!(got.status, 403, "{path}");
        got.json()
    };
    assert_eq!(foreign("/compat/vllm/health").await["error"]["code"], 403);
    assert_eq!(
        foreign("/compat/tei/health").await["error_type"],
        "Validation"
    );
    assert!(foreign("/compat/sglang/health").await["error"]["message"].is_string());
    assert_eq!(foreign("/compat/sglang/v1/score").await["object"], "error");
    assert!(foreign("/compat/openrlhf/get_reward").await["detail"].is_string());
    assert!(foreign("/compat/piston/api/v2/execute").await["message"].is_string());
    assert!(foreign("/compat/sandboxfusion/run_code").await["detail"].is_string());
    assert_eq!(
        service.get("/compat/vllm/nothing").await.json()["error"]["code"],
        404
    );
    assert_eq!(foreign("/v1/runs").await["error"]["code"], "other_site");
}

#[tokio::test]
async fn rejects_an_array_in_place_of_an_object() {
    let service = service().await;
    let put = Request::put("/v1/reward-models/rm").header("content-type", "application/json");
    let got = service.send(put.body("[null, null]".into()).unwrap()).await;
    assert_eq!(
        got.refusal(),
        (422, "invalid_field".to_owned(), Some(String::new()))
    );
}
