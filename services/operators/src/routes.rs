//! The routes of the pages, and the headers of their responses.

use std::sync::Arc;

use assay_access::Gate;
use assay_core::ErrorCode;
use assay_engine::Engine;
use assay_record::access::{Access, Role};
use axum::Router;
use axum::handler::Handler;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::assets;
use crate::failure::Failure;
use crate::pages::{
    audit, channels, check, checks, disagreements, grade, grades, home, keys, queue, run, runs,
    sign_in, storage, suspects,
};
use crate::site::Site;

/// Pages may load from and send to this service only. Inline scripts and styles are blocked, so a
/// script in a completion would not run even if it were not escaped.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
                                       frame-ancestors 'none'; object-src 'none'";

/// The pages, with who may see each. A page cannot be added without saying so.
struct Pages {
    router: Router<Site>,
    roles: Vec<(Method, &'static str, Access)>,
}

impl Pages {
    fn get<T: 'static>(
        self,
        access: Access,
        path: &'static str,
        handler: impl Handler<T, Site>,
    ) -> Self {
        self.add(Method::GET, access, path, get(handler))
    }

    fn post<T: 'static>(
        self,
        access: Access,
        path: &'static str,
        handler: impl Handler<T, Site>,
    ) -> Self {
        self.add(Method::POST, access, path, post(handler))
    }

    fn add(
        mut self,
        method: Method,
        access: Access,
        path: &'static str,
        route: MethodRouter<Site>,
    ) -> Self {
        self.roles.push((method, path, access));
        Self {
            router: self.router.route(path, route),
            ..self
        }
    }
}

/// The pages of `engine`, at `/ui` and below, to which `/` redirects, and who may see each. `S` is
/// the state of the router that they are merged into; `secure` says
/// whether connections use TLS.
pub fn router<S: Clone + Send + Sync + 'static>(
    engine: Engine,
    gate: Arc<Gate>,
    secure: bool,
) -> (Router<S>, Vec<(Method, &'static str, Access)>) {
    const PUBLIC: Access = Access::Public;
    const TRAINER: Access = Access::Role(Role::Trainer);
    const CHECKER: Access = Access::Role(Role::Checker);
    const OPERATOR: Access = Access::Role(Role::Operator);
    const ADMIN: Access = Access::Role(Role::Admin);
    let pages = Pages {
        router: Router::new(),
        roles: Vec::new(),
    };
    let pages = pages
        .get(PUBLIC, "/", async || Redirect::temporary("/ui"))
        .get(TRAINER, "/ui", home::page)
        .get(PUBLIC, "/ui/", async || Redirect::permanent("/ui"))
        .get(PUBLIC, "/ui/sign-in", sign_in::page)
        .post(PUBLIC, "/ui/sign-in", sign_in::sign_in)
        .post(PUBLIC, "/ui/sign-out", sign_in::sign_out)
        .get(TRAINER, "/ui/runs", runs::page)
        .get(TRAINER, "/ui/run", run::page)
        .get(TRAINER, "/ui/grades", grades::page)
        .get(TRAINER, "/ui/grades/{id}", grade::page)
        .post(TRAINER, "/ui/grades/{id}/replay", grade::replay)
        .post(OPERATOR, "/ui/grades/{id}/adjudicate", grade::adjudicate)
        .get(OPERATOR, "/ui/queue", queue::page)
        .post(OPERATOR, "/ui/queue", queue::draw)
        .get(OPERATOR, "/ui/queue/{id}", queue::drawn)
        .get(OPERATOR, "/ui/channels", channels::page)
        .get(CHECKER, "/ui/checks", checks::page)
        .get(CHECKER, "/ui/checks/{id}", check::page)
        .get(OPERATOR, "/ui/disagreements", disagreements::page)
        .get(OPERATOR, "/ui/suspects", suspects::page)
        .get(OPERATOR, "/ui/audit", audit::page)
        .get(OPERATOR, "/ui/storage", storage::page)
        .get(ADMIN, "/ui/keys", keys::page)
        .get(PUBLIC, "/ui/assets/{name}", assets::asset)
        .get(TRAINER, "/ui/{*rest}", unknown_page);
    let router = pages
        .router
        .layer(map_response(add_headers))
        .with_state(Site {
            engine,
            gate,
            secure,
        });
    (router, pages.roles)
}

/// Whether a path belongs to the pages.
#[must_use]
pub fn is_page(path: &str) -> bool {
    path == "/ui" || path.starts_with("/ui/")
}

/// The cookie of the session of a request.
#[must_use]
pub fn session(headers: &HeaderMap) -> Option<&str> {
    sign_in::session(headers)
}

/// The response to a request for a page that its caller may not see. `address` is that of the page.
pub async fn refusal(code: ErrorCode, message: &str, method: &Method, address: &str) -> Response {
    let response = if code == ErrorCode::Unauthenticated {
        let then = if *method == Method::GET {
            address
        } else {
            "/ui"
        };
        sign_in::form(StatusCode::UNAUTHORIZED, then.to_owned(), Some(message))
    } else {
        let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::FORBIDDEN);
        Failure::new(status, message).into_response()
    };
    add_headers(response).await
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
