//! Exports spans to an OpenTelemetry collector (OTLP over HTTP), on a thread of its own.
//!
//! Spans are at the level `info`. Without a collector, only the spans of requests and batches are
//! created, which log lines contain; the others cost nothing.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use assay_base::url::redacted;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::export::{self, ExportState};

/// Spans that are also in log lines.
const IN_LINES: [&str; 2] = ["request", "batch"];

/// Maximum time of one export.
const TIMEOUT: Duration = Duration::from_secs(10);

static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// The state of the provider's export.
static STATE: OnceLock<Arc<ExportState>> = OnceLock::new();

/// Whether log lines contain a span.
pub(super) fn is_in_lines(metadata: &Metadata<'_>) -> bool {
    metadata.is_span()
        && metadata.target().starts_with("assay")
        && IN_LINES.contains(&metadata.name())
}

/// Starts the export to the collector at `endpoint`.
pub(super) fn provider(endpoint: &str) -> Result<SdkTracerProvider, String> {
    // Fails if a provider is already installed, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    let exporter = SpanExporter::builder()
        .with_http()
        .with_endpoint(&endpoint)
        .with_timeout(TIMEOUT)
        .build()
        // The message may contain the URL.
        .map_err(|error| error.to_string().replace(&endpoint, &redacted(&endpoint)))?;
    let resource = Resource::builder()
        .with_service_name("assay")
        .with_attribute(opentelemetry::KeyValue::new(
            "service.version",
            env!("CARGO_PKG_VERSION"),
        ));
    let state = STATE.get_or_init(Arc::default);
    let provider = SdkTracerProvider::builder()
        .with_span_processor(export::processor(exporter, Arc::clone(state)))
        .with_resource(resource.build())
        // Set here, because `OTEL_TRACES_SAMPLER` would otherwise select it.
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
        .build();
    Ok(PROVIDER.get_or_init(|| provider).clone())
}

/// The layer that gives spans to the exporter.
pub(super) fn layer<S>(provider: &SdkTracerProvider) -> impl Layer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let is_exported = |metadata: &Metadata<'_>| {
        metadata.is_span()
            && *metadata.level() <= Level::INFO
            && metadata.target().starts_with("assay")
    };
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("assay"))
        .with_filter(filter_fn(is_exported).with_max_level_hint(Level::INFO))
}

/// The number of spans that were not exported.
pub(super) fn dropped() -> u64 {
    STATE.get().map_or(0, |state| state.dropped())
}

/// Waits until the spans are exported.
pub(super) fn flush(timeout: Duration) {
    if let Some(provider) = PROVIDER.get() {
        // The collector may be unavailable; its spans are lost then.
        let _ = provider.shutdown_with_timeout(timeout);
    }
}
