//! The page at `/docs`, which renders the OpenAPI document with its own script and loads nothing
//! from other hosts.

use assay_record::access::Access;
use axum::Router;
use axum::response::Html;
use axum::routing::get;
use bytes::Bytes;
use http::{Method, header};
use serde_json::Value;

use crate::Api;

const PAGE: &str = include_str!("docs.html");

/// The routes, for anyone: the document is the same for all nodes of a version.
pub(crate) const ROUTES: &[(Method, &str, Access)] = &[
    (Method::GET, "/openapi.json", Access::Public),
    (Method::GET, "/docs", Access::Public),
];

pub(crate) fn router(document: &Value) -> Router<Api> {
    let json = Bytes::from(document.to_string());
    Router::new()
        .route(
            "/openapi.json",
            get(move || async move { ([(header::CONTENT_TYPE, "application/json")], json) }),
        )
        .route("/docs", get(|| async { Html(PAGE) }))
}
