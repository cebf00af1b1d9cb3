//! The list of endpoints, and the middleware of all requests.

use std::any::Any;
use std::time::Duration;

use assay_core::{ErrorCode, GraderTable};
use axum::response::{IntoResponse, Response};
use axum::{Router, middleware};
use http::{Request, StatusCode, header};
use serde_json::Value;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::classify::ServerErrorsFailureClass;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};
use tower_http::decompression::RequestDecompressionLayer;
use tower_http::trace::TraceLayer;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::origin::reject_other_sites;
use crate::request_id::RequestId;
use crate::{Api, arrival, compat, docs, health, openapi, over_limit, request_id, trace, v1};

/// Maximum length of a text in a span, in bytes.
const MAX_SPAN_TEXT: usize = 256;

/// Endpoints that the OpenAPI document lists.
pub(crate) fn documented() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(v1::grade::grade))
        .routes(routes!(v1::grades::list::list))
        .routes(routes!(v1::grades::get::get))
        .routes(routes!(v1::grades::replay::replay))
        .routes(routes!(v1::grades::adjudicate::adjudicate))
        .routes(routes!(v1::adjudications::next))
        .routes(routes!(v1::channels::list))
        .routes(routes!(v1::channels::compare))
        .routes(routes!(v1::channels::calibrate))
        .routes(routes!(v1::checks::record, v1::checks::list))
        .routes(routes!(v1::checks::get))
        .routes(routes!(v1::policies::list))
        .routes(routes!(v1::policies::get))
        .routes(routes!(v1::policies::check))
        .routes(routes!(v1::prompts::suggest))
        .routes(routes!(v1::graders::graders))
        .routes(routes!(v1::runs::list::list))
        .routes(routes!(v1::runs::get::get))
        .routes(routes!(v1::storage::get))
        .routes(routes!(v1::storage::prune))
        .routes(routes!(v1::reward_models::list::list))
        .routes(routes!(
            v1::reward_models::list::get,
            v1::reward_models::load::load,
            v1::reward_models::load::unload
        ))
        .routes(routes!(v1::reward_models::score::score))
        .routes(routes!(
            v1::reward_models::pairs::collect,
            v1::reward_models::pairs::page
        ))
        .routes(routes!(v1::reward_models::run_pairs::collect))
        .routes(routes!(compat::sandboxfusion::run_code))
        .routes(routes!(compat::scalebox::evaluate))
        .routes(routes!(compat::piston::runtimes))
        .routes(routes!(compat::piston::execute))
        .routes(routes!(compat::tei::predict::predict))
        .routes(routes!(compat::tei::rerank::rerank))
        .routes(routes!(compat::tei::embed::embed))
        .routes(routes!(compat::tei::info::info))
        .routes(routes!(compat::tei::info::health))
        .routes(routes!(compat::vllm::classify::classify))
        .routes(routes!(compat::vllm::pooling::pooling))
        .routes(routes!(compat::vllm::score::score))
        .routes(routes!(compat::vllm::score::v1_score))
        .routes(routes!(compat::vllm::rerank::rerank))
        .routes(routes!(compat::vllm::rerank::v1_rerank))
        .routes(routes!(compat::vllm::rerank::v2_rerank))
        .routes(routes!(compat::vllm::models::models))
        .routes(routes!(compat::vllm::models::health))
        .routes(routes!(
            compat::sglang::native::classify,
            compat::sglang::native::classify_put
        ))
        .routes(routes!(compat::sglang::native::health))
        .routes(routes!(compat::sglang::openai::classify))
        .routes(routes!(compat::sglang::openai::embeddings))
        .routes(routes!(compat::sglang::openai::score))
        .routes(routes!(compat::openrlhf::get_reward))
        .routes(routes!(compat::openrlhf::grade))
        .routes(routes!(compat::nemo_gym::verify))
        .routes(routes!(compat::nemo_gym::reverify_mode))
        .routes(routes!(compat::nemo_gym::seed_session))
        .routes(routes!(compat::nemo_gym::close_session))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// The document served at `/openapi.json`, for a node with these graders.
#[must_use]
pub fn document(graders: &GraderTable) -> Value {
    let (_, paths) = documented().split_for_parts();
    openapi::document(paths, graders)
}

/// Builds the router with all endpoints, documents and pages.
pub fn router(api: Api) -> Router {
    let (documented, paths) = documented().split_for_parts();
    let document = openapi::document(paths, api.engine().graders());
    documented
        .merge(docs::router(&document))
        .merge(assay_operators::router(api.engine().clone()))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        // Compressing a stream would delay lines until a block is full.
        .layer(CompressionLayer::new().gzip(true).zstd(true).compress_when(
            DefaultPredicate::new().and(NotForContentType::const_new(v1::grade::NDJSON)),
        ))
        .layer(RequestDecompressionLayer::new().gzip(true).zstd(true))
        .layer(middleware::from_fn_with_state(api.clone(), arrival::limit))
        .layer(middleware::map_response(problem_for_encoding))
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
        .with_state(api)
}

/// Logs a response with a status of 500 or more.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the layer passes it by value"
)]
fn log_failure(failure: ServerErrorsFailureClass, latency: Duration, span: &tracing::Span) {
    if !span.is_none() {
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
        path = excerpt(request.uri().path()),
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
