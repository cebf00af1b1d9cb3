//! The id of a request: the header `x-request-id` of every response, and `request_id` in the body
//! of an error.

use std::collections::BTreeSet;

use assay_api::ApiLimits;
use axum::body::Body;
use http::{Method, Request};

use crate::fixtures::{Received, Service, service_with};

const BODY_BYTES: usize = 64;

/// A request that the API rejects.
struct Rejected {
    status: u16,
    code: &'static str,
    method: &'static str,
    path: &'static str,
    header: (&'static str, &'static str),
    body: &'static str,
}

/// A batch that is rejected for its task. The other requests differ from it in the listed fields.
const BASE: Rejected = Rejected {
    status: 422,
    code: "unknown_grader",
    method: "POST",
    path: "/v1/grade",
    header: ("content-type", "application/json"),
    body: r#"{"items":[{"completion":"1","task":{"type":"none"}}]}"#,
};

const REJECTED: &[Rejected] = &[
    BASE,
    Rejected {
        status: 404,
        code: "not_found",
        path: "/nowhere",
        ..BASE
    },
    Rejected {
        status: 405,
        code: "method_not_allowed",
        method: "DELETE",
        ..BASE
    },
    Rejected {
        status: 400,
        code: "malformed_json",
        body: r#"{"items":"#,
        ..BASE
    },
    Rejected {
        status: 413,
        code: "body_too_large",
        body: r#"{"items":[{"completion":"more than 64 bytes","task":{"type":"none"}}]}"#,
        ..BASE
    },
    Rejected {
        status: 415,
        code: "unsupported_media",
        header: ("content-type", "text/plain"),
        ..BASE
    },
    Rejected {
        status: 415,
        code: "unsupported_media",
        header: ("content-encoding", "br"),
        ..BASE
    },
];

fn service() -> Service {
    let limits = ApiLimits {
        body_bytes: BODY_BYTES,
        ..ApiLimits::default()
    };
    service_with(Vec::new(), limits)
}

/// Sends a request with this id, and asserts that it is rejected for its reason.
async fn send(service: &Service, rejected: &Rejected, id: Option<&str>) -> Received {
    let (name, value) = rejected.header;
    let mut request = Request::builder()
        .method(rejected.method)
        .uri(rejected.path)
        .header(name, value);
    if let Some(id) = id {
        request = request.header("x-request-id", id);
    }
    let request = request.body(Body::from(rejected.body)).unwrap();
    let received = service.send_request(request).await;
    assert_eq!(
        (received.status, received.error().1.as_str()),
        (rejected.status, rejected.code),
        "{}",
        received.text()
    );
    received
}

#[tokio::test]
async fn errors_contain_the_id_of_their_response() {
    let service = service();
    let mut ids = BTreeSet::new();
    for rejected in REJECTED {
        let received = send(&service, rejected, None).await;
        let id = received.header("x-request-id").unwrap();
        assert!(!id.is_empty());
        assert_eq!(received.json()["request_id"], id, "{}", rejected.code);
        assert!(ids.insert(id.to_owned()), "two requests have the id `{id}`");
    }
}

#[tokio::test]
async fn ids_of_callers_are_kept() {
    let service = service();
    for rejected in REJECTED {
        let received = send(&service, rejected, Some("mine")).await;
        assert_eq!(received.header("x-request-id"), Some("mine"));
        assert_eq!(received.json()["request_id"], "mine", "{}", rejected.code);
    }
    let request = Request::builder()
        .method(Method::GET)
        .uri("/healthz")
        .header("x-request-id", "mine");
    let received = service
        .send_request(request.body(Body::empty()).unwrap())
        .await;
    assert_eq!(received.status, 200);
    assert_eq!(received.header("x-request-id"), Some("mine"));
}

#[tokio::test]
async fn empty_and_long_ids_are_replaced() {
    let service = service();
    let longest = "x".repeat(128);
    let kept = send(&service, &BASE, Some(&longest)).await;
    assert_eq!(kept.header("x-request-id"), Some(longest.as_str()));
    for sent in [String::new(), "x".repeat(129)] {
        let received = send(&service, &BASE, Some(&sent)).await;
        let id = received.header("x-request-id").unwrap();
        assert!(!id.is_empty() && id != sent);
        assert_eq!(received.json()["request_id"], id);
    }
}
