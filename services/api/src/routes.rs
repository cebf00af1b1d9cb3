//! The list of endpoints, and the middleware of all requests.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use assay_access::redact;
use assay_core::{ErrorCode, GraderTable};
use assay_record::access::{Access, Role};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::{Router, middleware};
use http::{Method, Request, StatusCode, header};
use serde_json::Value;
use tower::Layer as _;
use tower::util::MapRequestLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::classify::ServerErrorsFailureClass;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
use tower_http::decompression::RequestDecompressionLayer;
use tower_http::trace::TraceLayer;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use utoipa_axum::routes;

use crate::access::{Endpoints, KEYED_PATHS, split_key};
use crate::error::ApiError;
use crate::ndjson::NDJSON;
use crate::origin::reject_other_sites;
use crate::request_id::RequestId;
use crate::{
    Api, access, arrival, compat, docs, health, openapi, over_limit, replies, request_id, trace, v1,
};

/// Maximum length of a text in a span, in bytes.
const MAX_SPAN_TEXT: usize = 256;

/// Endpoints that the OpenAPI document lists, with the role that each needs.
fn documented() -> Endpoints {
    use Role::{Checker, Operator, Trainer};
    Endpoints::new()
        .role(Trainer, routes!(v1::grade::grade))
        .role(Trainer, routes!(v1::grades::list::list))
        .role(Trainer, routes!(v1::grades::get::get))
        .role(Trainer, routes!(v1::grades::replay::replay))
        .role(Trainer, routes!(v1::grades::receipt::receipt))
        .role(Trainer, routes!(v1::grades::receipt::key))
        .role(Operator, routes!(v1::grades::adjudicate::adjudicate))
        .role(Operator, routes!(v1::grades::comments::comment))
        .role(Operator, routes!(v1::grades::comments::delete))
        .role(Operator, routes!(v1::adjudications::next))
        // Counts of all callers, and names of channels that others chose.
        .role(Operator, routes!(v1::channels::list))
        .role(Operator, routes!(v1::channels::compare))
        .role(Operator, routes!(v1::channels::calibrate))
        .role(Checker, routes!(v1::checks::record, v1::checks::list))
        .role(Checker, routes!(v1::checks::get))
        .role(Trainer, routes!(v1::jobs::submit::submit, v1::jobs::list::list))
        .role(Trainer, routes!(v1::jobs::replay::replay))
        .role(Trainer, routes!(v1::jobs::get::get, v1::jobs::cancel::cancel))
        .role(Trainer, routes!(v1::jobs::results::results))
        .role(Trainer, routes!(v1::policies::list))
        .role(Trainer, routes!(v1::policies::get))
        .role(Trainer, routes!(v1::policies::check))
        .role(Trainer, routes!(v1::prompts::list))
        .role(Trainer, routes!(v1::prompts::suggest))
        .role(Trainer, routes!(v1::graders::graders))
        .role(Trainer, routes!(v1::runs::list::list))
        .role(Trainer, routes!(v1::runs::compare::compared))
        .role(Trainer, routes!(v1::runs::get::get))
        .role(Operator, routes!(v1::runs::annotate::annotate))
        .role(
            Trainer,
            routes!(
                v1::runs::shadow::start,
                v1::runs::shadow::get,
                v1::runs::shadow::end
            ),
        )
        .role(
            Operator,
            routes!(v1::runs::shadow::promote, v1::runs::shadow::withdraw),
        )
        .role(Trainer, routes!(v1::sessions::open::open, v1::sessions::list::list))
        .role(Trainer, routes!(v1::sessions::batch::run))
        .role(Trainer, routes!(v1::sessions::replay::replay))
        .role(Trainer, routes!(v1::sessions::get::get, v1::sessions::end::end))
        .role(Trainer, routes!(v1::sessions::run::run))
        .role(Trainer, routes!(v1::sessions::fork::fork))
        .role(Trainer, routes!(v1::sessions::file::file))
        .role(Trainer, routes!(v1::sessions::log::log))
        .role(Trainer, routes!(v1::reward_models::list::list))
        .role(Trainer, routes!(v1::reward_models::list::get))
        .role(
            Operator,
            routes!(
                v1::reward_models::load::load,
                v1::reward_models::load::unload
            ),
        )
        .role(Trainer, routes!(v1::reward_models::score::score))
        // The number of known pairs tells what others have collected.
        .role(
            Operator,
            routes!(
                v1::reward_models::pairs::collect,
                v1::reward_models::pairs::page
            ),
        )
        .role(Operator, routes!(v1::reward_models::run_pairs::collect))
        .role(Operator, routes!(v1::alerts::list))
        .role(Operator, routes!(v1::audit::page))
        .role(Operator, routes!(v1::costs::get))
        .role(Operator, routes!(v1::storage::get))
        .role(Role::Admin, routes!(v1::storage::prune))
        .role(Trainer, routes!(compat::sandboxfusion::run_code))
        .role(Trainer, routes!(compat::jupyter::run_jupyter))
        .role(Trainer, routes!(compat::verl_tool::get_observation))
        .public(routes!(compat::verl_tool::health))
        .role(Trainer, routes!(compat::mcp::message, compat::mcp::end))
        .role(Trainer, routes!(compat::e2b::create))
        .role(Trainer, routes!(compat::e2b::create_before))
        .role(Trainer, routes!(compat::e2b::end))
        .role(Trainer, routes!(compat::e2b::health))
        .role(Trainer, routes!(compat::e2b::create_context))
        .role(Trainer, routes!(compat::e2b::end_context))
        .role(Trainer, routes!(compat::e2b::execute))
        .role(Trainer, routes!(compat::scalebox::evaluate))
        .role(Trainer, routes!(compat::piston::runtimes))
        .role(Trainer, routes!(compat::piston::execute))
        .role(Trainer, routes!(compat::tei::predict::predict))
        .role(Trainer, routes!(compat::tei::rerank::rerank))
        .role(Trainer, routes!(compat::tei::embed::embed))
        .role(Trainer, routes!(compat::tei::info::info))
        // The emulated servers answer probes without a key.
        .public(routes!(compat::tei::info::health))
        .role(Trainer, routes!(compat::vllm::classify::classify))
        .role(Trainer, routes!(compat::vllm::pooling::pooling))
        .role(Trainer, routes!(compat::vllm::score::score))
        .role(Trainer, routes!(compat::vllm::score::v1_score))
        .role(Trainer, routes!(compat::vllm::rerank::rerank))
        .role(Trainer, routes!(compat::vllm::rerank::v1_rerank))
        .role(Trainer, routes!(compat::vllm::rerank::v2_rerank))
        .role(Trainer, routes!(compat::vllm::models::models))
        .public(routes!(compat::vllm::models::health))
        .role(
            Trainer,
            routes!(
                compat::sglang::native::classify,
                compat::sglang::native::classify_put
            ),
        )
        .public(routes!(compat::sglang::native::health))
        .role(Trainer, routes!(compat::sglang::openai::classify))
        .role(Trainer, routes!(compat::sglang::openai::embeddings))
        .role(Trainer, routes!(compat::sglang::openai::score))
        .role(Trainer, routes!(compat::openrlhf::get_reward))
        .role(Trainer, routes!(compat::openrlhf::grade))
        .role(Trainer, routes!(compat::nemo_gym::verify))
        .role(Trainer, routes!(compat::nemo_gym::metrics::aggregate))
        .role(Trainer, routes!(compat::nemo_gym::reverify_mode))
        .role(Trainer, routes!(compat::nemo_gym::tools::seed_session))
        .role(Trainer, routes!(compat::nemo_gym::tools::execute_python))
        .role(Trainer, routes!(compat::nemo_gym::tools::end_session))
        .role(Trainer, routes!(compat::nemo_gym::tools::close_session))
        .public(routes!(health::healthz))
        .public(routes!(health::readyz))
        .role(Operator, routes!(health::metrics))
}

/// The document served at `/openapi.json`, for a node with these graders.
#[must_use]
pub fn document(graders: &GraderTable) -> Value {
    let Endpoints { router, roles } = documented();
    let (_, paths) = router.split_for_parts();
    openapi::document(paths, graders, &roles)
}

/// The endpoints and pages of a node, with the role that each needs.
fn endpoints(api: &Api) -> Endpoints {
    let document = document(api.engine().graders());
    let (pages, roles_of_pages) = assay_operators::router(
        api.review().clone(),
        Arc::clone(api.alerts()),
        Arc::clone(api.shared_gate()),
        api.jobs().clone(),
        api.sessions().clone(),
        api.tls().is_some(),
    );
    documented()
        .merge(docs::router(&document), docs::ROUTES.iter().cloned())
        .merge(pages, roles_of_pages)
}

/// The method, path and access of every route of the router that [`router`] builds, by path.
#[must_use]
pub fn route_table(api: &Api) -> Vec<(Method, String, Access)> {
    let endpoints = endpoints(api);
    let rows = endpoints.roles.rows().into_iter();
    rows.map(|(path, method, access)| (method.clone(), path.to_owned(), access))
        .collect()
}

/// Builds the router with all endpoints, documents and pages.
pub fn router(api: Api) -> Router {
    let Endpoints { router, roles } = endpoints(&api);
    let api = api.with_roles(roles);
    let routed = router
        .split_for_parts()
        .0
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(api.clone(), replies::count))
        // Compressing a stream would delay lines until a block is full.
        .layer(CompressionLayer::new().gzip(true).zstd(true).compress_when(
            DefaultPredicate::new().and(NotForContentType::const_new(NDJSON)),
        ))
        .layer(RequestDecompressionLayer::new().gzip(true).zstd(true))
        .layer(middleware::from_fn_with_state(api.clone(), access::reject_exhausted))
        .layer(middleware::from_fn_with_state(api.clone(), arrival::limit))
        .layer(middleware::map_response(problem_for_encoding))
        .layer(middleware::from_fn_with_state(api.clone(), access::authenticate))
        .layer(middleware::from_fn_with_state(api.clone(), reject_other_sites))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn(over_limit::reject))
        .layer(middleware::from_fn(compat::peer::convert_errors))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_failure(log_failure),
        )
        .layer(middleware::from_fn_with_state(api.clone(), request_id::identify))
        .with_state(api);
    // Keys in paths are removed before a route is chosen.
    let keyless = MapRequestLayer::new(split_key::<Body>).layer(routed);
    Router::new().fallback_service(keyless)
}

/// Logs a response with a status of 500 or more. 503 and 504 are how emulated servers say that a
/// client should retry, for example when its quota is exceeded.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the layer passes it by value"
)]
fn log_failure(failure: ServerErrorsFailureClass, latency: Duration, span: &tracing::Span) {
    let is_busy = matches!(
        failure,
        ServerErrorsFailureClass::StatusCode(
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
        )
    );
    // Emulated servers of sandboxes say by a 502 that one has ended.
    let has_ended = matches!(
        failure,
        ServerErrorsFailureClass::StatusCode(StatusCode::BAD_GATEWAY)
    );
    if span.is_none() || has_ended {
        return;
    }
    if is_busy {
        tracing::warn!(%failure, ?latency, "a request was not served");
    } else {
        tracing::error!(%failure, ?latency, "a request failed");
    }
}

/// The span of a request. It belongs to the trace of the caller, if the caller sent a `traceparent`
/// (W3C Trace Context).
///
/// There is none for `/readyz`: clients poll it while the node starts, and other lines of the log
/// report what the node waits for.
fn span<B>(request: &Request<B>) -> tracing::Span {
    if request.uri().path() == "/readyz" {
        return tracing::Span::none();
    }
    let id = request.extensions().get::<RequestId>();
    let span = tracing::info_span!(
        "request",
        id = id.map(RequestId::as_str),
        method = excerpt(request.method().as_str()),
        path = excerpt(&redact(request.uri().path())),
    );
    if let Some(caller) = trace::caller(request.headers()) {
        // Fails if traces are not exported.
        let _ = span.set_parent(caller);
    }
    span
}

/// The first bytes of a text. Spans wait in memory until they are exported.
fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SPAN_TEXT)]
}

async fn not_found(uri: http::Uri) -> ApiError {
    if uri.path() == KEYED_PATHS {
        let message = "`/k/KEY/` must be followed by `v1/` or `compat/`; the pages have a sign-in";
        return ApiError::new(ErrorCode::NotFound, message);
    }
    if let Some(reason) = compat::sandboxfusion::refusal(uri.path()) {
        return ApiError::new(ErrorCode::NotFound, reason);
    }
    ApiError::new(
        ErrorCode::NotFound,
        format!(
            "no endpoint at `{}`; `/docs` lists the endpoints",
            uri.path()
        ),
    )
}

async fn method_not_allowed(method: http::Method, uri: http::Uri) -> ApiError {
    let message = format!(
        "`{}` does not support `{method}`; `/docs` lists the supported methods",
        uri.path()
    );
    ApiError::new(ErrorCode::MethodNotAllowed, message)
}

/// Adds an error body to the empty responses with which the decompression layer rejects unsupported
/// encodings.
async fn problem_for_encoding(response: Response) -> Response {
    let empty = response.headers().get(header::CONTENT_TYPE).is_none();
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && empty {
        let message = "unsupported `Content-Encoding`; send `gzip`, `zstd` or none";
        return ApiError::new(ErrorCode::UnsupportedMedia, message).into_response();
    }
    response
}

fn panicked(_payload: Box<dyn Any + Send>) -> Response {
    let message = "the service panicked on this request; report it with the request";
    ApiError::new(ErrorCode::Internal, message).into_response()
}
