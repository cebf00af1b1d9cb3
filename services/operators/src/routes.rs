//! The routes of the pages, and the headers of their responses.

use assay_engine::Engine;
use axum::Router;
use axum::middleware::map_response;
use axum::response::{Redirect, Response};
use axum::routing::{get, post};
use http::{HeaderValue, header};

use crate::assets;
use crate::failure::Failure;
use crate::pages::{
    channels, check, checks, disagreements, grade, grades, home, queue, run, runs, storage,
    suspects,
};

/// Pages may load from and send to this service only. Inline scripts and styles are blocked, so a
/// script in a completion would not run even if it were not escaped.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
                                       frame-ancestors 'none'; object-src 'none'";

/// The pages of `engine`, at `/ui` and below, to which `/` redirects. `S` is the state of the
/// router that they are merged into.
pub fn router<S: Clone + Send + Sync + 'static>(engine: Engine) -> Router<S> {
    Router::new()
        .route("/", get(async || Redirect::temporary("/ui")))
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
        .route("/ui/storage", get(storage::page))
        .route("/ui/assets/{name}", get(assets::asset))
        .route("/ui/{*rest}", get(unknown_page))
        .layer(map_response(add_headers))
        .with_state(engine)
}

async fn unknown_page(uri: http::Uri) -> Failure {
    Failure::not_found(format!("no page at `{}`", uri.path()))
}

async fn add_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(CONTENT_SECURITY_POLICY),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
    // Pages show the current record, so they are not cached.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}
