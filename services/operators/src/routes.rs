//! The routes of the pages, and the headers of their responses.

use std::borrow::Cow;
use std::sync::Arc;

use assay_access::Gate;
use assay_alerts::Alerts;
use assay_core::ErrorCode;
use assay_jobs::Jobs;
use assay_record::access::{Access, Role};
use assay_review::Review;
use assay_sessions::Sessions;
use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::{Next, from_fn, map_response};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use form_urlencoded::Serializer;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::assets;
use crate::failure::Failure;
use crate::failure_page::{failure_page, show_failures};
use crate::page::{Menu, Section};
use crate::pages::{
    audit, channel, channels, check, checks, comments, compare, cost, disagreements, grade, grades,
    home, job, jobs, keys, prompts, queue, run, run_notes, runs, session, sessions, shadow,
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
/// the state of the router that they are merged into; `secure` says whether connections use TLS.
pub fn router<S: Clone + Send + Sync + 'static>(
    review: Review,
    alerts: Arc<Alerts>,
    gate: Arc<Gate>,
    jobs: Jobs,
    sessions: Sessions,
    secure: bool,
) -> (Router<S>, Vec<(Method, &'static str, Access)>) {
    const PUBLIC: Access = Access::Public;
    let pages = Pages {
        router: Router::new(),
        roles: Vec::new(),
    };
    let pages = pages
        .get(PUBLIC, "/", async || Redirect::temporary("/ui"))
        .get(Section::Home.access(), "/ui", home::page)
        .get(PUBLIC, "/ui/", async || Redirect::permanent("/ui"))
        .get(PUBLIC, "/ui/sign-in", sign_in::page)
        .post(PUBLIC, "/ui/sign-in", sign_in::sign_in)
        .post(PUBLIC, "/ui/sign-out", sign_in::sign_out)
        .get(Section::Runs.access(), "/ui/runs", runs::page)
        .get(Section::Runs.access(), "/ui/run", run::page)
        .post(run_notes::ACCESS, "/ui/run", run::annotate)
        .get(Section::Runs.access(), "/ui/shadow", shadow::page)
        .post(Section::Runs.access(), "/ui/shadow", shadow::start)
        .post(Section::Runs.access(), "/ui/shadow/end", shadow::end)
        .post(shadow::PROMOTES, "/ui/shadow/promote", shadow::promote)
        .post(shadow::PROMOTES, "/ui/shadow/withdraw", shadow::withdraw)
        .get(Section::Runs.access(), "/ui/compare", compare::page)
        .get(Section::Runs.access(), "/ui/prompts", prompts::page)
        .get(Section::Grades.access(), "/ui/grades", grades::page)
        .get(Section::Grades.access(), "/ui/grades/{id}", grade::page)
        .post(
            Section::Grades.access(),
            "/ui/grades/{id}/replay",
            grade::replay,
        )
        .post(
            Section::Verifier.access(),
            "/ui/grades/{id}/adjudicate",
            grade::adjudicate,
        )
        .post(
            Section::Verifier.access(),
            "/ui/grades/{id}/comments",
            comments::comment,
        )
        .post(
            Section::Verifier.access(),
            "/ui/grades/{id}/comments/{comment}/delete",
            comments::delete,
        )
        .get(Section::Verifier.access(), "/ui/queue", queue::page)
        .post(Section::Verifier.access(), "/ui/queue", queue::draw)
        .get(Section::Verifier.access(), "/ui/queue/{id}", queue::drawn)
        .post(
            Section::Verifier.access(),
            "/ui/queue/{id}/assign",
            queue::assign,
        )
        .get(Section::Verifier.access(), "/ui/channels", channels::page)
        .get(Section::Verifier.access(), "/ui/channel", channel::page)
        .get(Section::Checks.access(), "/ui/checks", checks::page)
        .get(Section::Checks.access(), "/ui/checks/{id}", check::page)
        .get(Section::Jobs.access(), "/ui/jobs", jobs::page)
        .get(Section::Jobs.access(), "/ui/jobs/{id}", job::page)
        .post(Section::Jobs.access(), "/ui/jobs/{id}/cancel", job::cancel)
        .get(Section::Sessions.access(), "/ui/sessions", sessions::page)
        .get(
            Section::Sessions.access(),
            "/ui/sessions/{id}",
            session::page,
        )
        .post(
            Section::Sessions.access(),
            "/ui/sessions/{id}/end",
            session::end,
        )
        .get(
            Section::Verifier.access(),
            "/ui/disagreements",
            disagreements::page,
        )
        .get(Section::Suspects.access(), "/ui/suspects", suspects::page)
        .get(Section::Audit.access(), "/ui/audit", audit::page)
        .get(Section::Cost.access(), "/ui/cost", cost::page)
        .get(Section::Storage.access(), "/ui/storage", storage::page)
        .get(Section::Keys.access(), "/ui/keys", keys::page)
        .get(PUBLIC, "/ui/assets/{name}", assets::asset)
        .get(Section::Other.access(), "/ui/{*rest}", unknown_page);
    let router = pages
        .router
        .layer(from_fn(show_failures))
        .layer(from_fn(drop_empty_parameters))
        .layer(map_response(add_headers))
        .with_state(Site {
            review,
            alerts,
            gate,
            jobs,
            sessions,
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

/// The response to a request for a page that its caller may not see. `role` is that of the caller,
/// if it is known, and `address` that of the page.
pub async fn refusal(
    code: ErrorCode,
    message: &str,
    role: Option<Role>,
    method: &Method,
    address: &str,
) -> Response {
    let response = if code == ErrorCode::Unauthenticated {
        let then = if *method == Method::GET {
            address
        } else {
            "/ui"
        };
        sign_in::form(StatusCode::UNAUTHORIZED, then.to_owned(), Some(message))
    } else {
        let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::FORBIDDEN);
        failure_page(&Failure::new(status, message), Menu::new(role))
    };
    add_headers(response).await
}

/// Redirects a page whose query has parameters without a value, which forms send for empty fields,
/// to the same page without them.
async fn drop_empty_parameters(request: Request, next: Next) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let named = |(name, _): &(Cow<'_, str>, Cow<'_, str>)| !name.is_empty();
    let pairs = || form_urlencoded::parse(query.as_bytes()).filter(named);
    if !request.method().is_safe() || pairs().all(|(_, value)| !value.is_empty()) {
        return next.run(request).await;
    }
    let with_values = pairs().filter(|(_, value)| !value.is_empty());
    let query = Serializer::new(String::new())
        .extend_pairs(with_values)
        .finish();
    let separator = if query.is_empty() { "" } else { "?" };
    let address = format!("{}{separator}{query}", request.uri().path());
    Redirect::to(&address).into_response()
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
