//! The list of pages, and what every reply of them says.

use assay_core::store::Store;
use assay_engine::Engine;
use axum::Router;
use axum::middleware::map_response;
use axum::response::{Redirect, Response};
use axum::routing::{get, post};
use http::{HeaderValue, StatusCode, header};
use std::sync::Arc;

use crate::assets;
use crate::failure::{Failure, Result};
use crate::pages::{
    channels, check, checks, disagreements, grade, grades, home, queue, run, runs, suspects,
};

/// What a page may load and where it may send: nothing but this service. Inline scripts and styles
/// are refused, so a completion that got past the escaping would still not run.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors \
                      'none'; object-src 'none'";

/// The pages over `engine`, at `/ui` and below. `S` is the state of the router they are merged
/// into.
pub fn router<S: Clone + Send + Sync + 'static>(engine: Engine) -> Router<S> {
    Router::new()
        .route("/ui", get(home::page))
        .route("/ui/", get(async || Redirect::permanent("/ui")))
        .route("/ui/runs", get(runs::page))
        .route("/ui/run", get(run::page))
        .route("/ui/grades", get(grades::page))
        .route("/ui/grades/{id}", get(grade::page))
        .route("/ui/grades/{id}/replay", post(grade::replay))
        .route("/ui/grades/{id}/adjudicate", post(grade::adjudicate))
        .route("/ui/queue", get(queue::page).post(queue::draw))
        .route("/ui/queue/{id}", get(queue::drawn))
        .route("/ui/channels", get(channels::page))
        .route("/ui/checks", get(checks::page))
        .route("/ui/checks/{id}", get(check::page))
        .route("/ui/disagreements", get(disagreements::page))
        .route("/ui/suspects", get(suspects::page))
        .route("/ui/assets/{name}", get(assets::asset))
        .route("/ui/{*rest}", get(nothing))
        .layer(map_response(guarded))
        .with_state(engine)
}

async fn nothing(uri: http::Uri) -> Failure {
    Failure::not_found(format!("there is no page at `{}`", uri.path()))
}

async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
    // Pages show the record as it is now.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The record, or why there is none.
pub(crate) fn store(engine: &Engine) -> Result<&Arc<dyn Store>> {
    let message = "the node keeps no record; start it with a database";
    engine
        .store()
        .ok_or_else(|| Failure::new(StatusCode::SERVICE_UNAVAILABLE, message))
}
