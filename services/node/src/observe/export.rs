//! Reports the export of spans: logs when it starts and stops failing, and counts the spans that
//! are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor,
};

/// Capacity of the queue, in spans.
const QUEUE_SPANS: usize = 2_048;

/// Maximum number of spans in one export.
const BATCH_SPANS: usize = 512;

/// Maximum time between two exports.
const EXPORT_INTERVAL: Duration = Duration::from_secs(5);

/// The state of the export.
#[derive(Debug, Default)]
pub(super) struct ExportState {
    /// Spans that have ended and whose export has not started.
    queued: AtomicUsize,
    /// Whether the last export failed.
    failing: AtomicBool,
    dropped: AtomicU64,
}

impl ExportState {
    /// The number of spans that did not fit into the queue or were not exported.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Reserves room in the queue for a span; `false` if the queue is full.
    fn reserve(&self) -> bool {
        let reserve = |queued: usize| (queued < QUEUE_SPANS).then_some(queued + 1);
        self.queued
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, reserve)
            .is_ok()
    }

    /// Counts and logs the result of an export of `spans`.
    fn record(&self, spans: u64, result: &OTelSdkResult) {
        match result {
            Ok(()) => {
                if self.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("spans are exported again");
                }
            }
            Err(error) => {
                self.dropped.fetch_add(spans, Ordering::Relaxed);
                if !self.failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        %error,
                        "cannot export spans, which are dropped; check the collector at \
                         `log.traces`"
                    );
                }
            }
        }
    }
}

/// Queues spans and exports them on a thread of its own.
pub(super) fn processor(
    exporter: impl SpanExporter + 'static,
    state: Arc<ExportState>,
) -> impl SpanProcessor + 'static {
    let exporter = ReportingExporter {
        exporter,
        state: Arc::clone(&state),
    };
    // Set here, because the builder would otherwise read environment variables.
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE_SPANS)
        .with_max_export_batch_size(BATCH_SPANS)
        .with_scheduled_delay(EXPORT_INTERVAL)
        .build();
    BoundedProcessor {
        processor: BatchSpanProcessor::new(exporter, config),
        state,
    }
}

/// Counts the spans that do not fit into the queue of the inner processor, which does not report
/// them.
#[derive(Debug)]
struct BoundedProcessor<P> {
    processor: P,
    state: Arc<ExportState>,
}

impl<P: SpanProcessor> SpanProcessor for BoundedProcessor<P> {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.processor.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.state.reserve() {
            self.processor.on_end(span);
        } else {
            self.state.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.processor.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.processor.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.processor.set_resource(resource);
    }
}

/// Records the result of each export.
#[derive(Debug)]
struct ReportingExporter<E> {
    exporter: E,
    state: Arc<ExportState>,
}

impl<E: SpanExporter> SpanExporter for ReportingExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        // The spans have left the queue.
        self.state.queued.fetch_sub(spans, Ordering::AcqRel);
        let result = self.exporter.export(batch).await;
        self.state.record(spans as u64, &result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::{self, Write};
    use std::sync::Mutex;
    use std::time::SystemTime;

    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status};
    use opentelemetry_sdk::error::OTelSdkError;
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};

    use super::*;

    fn span() -> SpanData {
        SpanData {
            span_context: SpanContext::empty_context(),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: "batch".into(),
            start_time: SystemTime::UNIX_EPOCH,
            end_time: SystemTime::UNIX_EPOCH,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::default(),
        }
    }

    /// An exporter with these results; later exports succeed.
    #[derive(Debug)]
    struct FakeExporter(Mutex<VecDeque<OTelSdkResult>>);

    impl FakeExporter {
        fn new(results: impl IntoIterator<Item = OTelSdkResult>) -> Self {
            Self(Mutex::new(results.into_iter().collect()))
        }
    }

    impl SpanExporter for FakeExporter {
        async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
            self.0.lock().unwrap().pop_front().unwrap_or(Ok(()))
        }
    }

    fn failure(reason: &str) -> OTelSdkResult {
        Err(OTelSdkError::InternalFailure(reason.to_owned()))
    }

    /// Log lines.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        fn levels_and_lines(&self) -> Vec<(String, String)> {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            text.lines()
                .map(|line| {
                    let (level, line) = line.trim_start().split_once(' ').unwrap();
                    (level.to_owned(), line.to_owned())
                })
                .collect()
        }
    }

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn logs_when_exports_start_and_stop_failing() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .without_time()
            .finish();
        let _guard = tracing::subscriber::set_default(subscriber);
        let state = Arc::new(ExportState::default());
        let exporter = ReportingExporter {
            exporter: FakeExporter::new([
                Ok(()),
                failure("refused"),
                failure("refused again"),
                Ok(()),
                Ok(()),
                failure("timed out"),
            ]),
            state: Arc::clone(&state),
        };
        for (spans, dropped, logged) in [
            (1, 0, 0),
            (2, 2, 1),
            (3, 5, 1),
            (4, 5, 2),
            (5, 5, 2),
            (6, 11, 3),
        ] {
            for _ in 0..spans {
                assert!(state.reserve());
            }
            let failed = exporter.export(vec![span(); spans]).await.is_err();
            assert_eq!(failed, [2, 3, 6].contains(&spans));
            assert_eq!(state.dropped(), dropped);
            assert_eq!(lines.levels_and_lines().len(), logged);
        }
        let logged = lines.levels_and_lines();
        for (at, level, text) in [
            (0, "WARN", "Operation failed: refused"),
            (1, "INFO", "spans are exported again"),
            (2, "WARN", "Operation failed: timed out"),
        ] {
            assert!(
                logged[at].0 == level && logged[at].1.contains(text),
                "{logged:?}"
            );
        }
    }

    /// A processor that exports nothing.
    #[derive(Debug)]
    struct StalledProcessor;

    impl SpanProcessor for StalledProcessor {
        fn on_start(&self, _: &mut Span, _: &Context) {}

        fn on_end(&self, _: SpanData) {}

        fn force_flush(&self) -> OTelSdkResult {
            Ok(())
        }

        fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
            Ok(())
        }
    }

    #[test]
    fn counts_spans_that_do_not_fit_into_the_queue() {
        let state = Arc::new(ExportState::default());
        let stalled = BoundedProcessor {
            processor: StalledProcessor,
            state: Arc::clone(&state),
        };
        for _ in 0..QUEUE_SPANS {
            stalled.on_end(span());
        }
        assert_eq!(state.dropped(), 0);
        stalled.on_end(span());
        assert_eq!(state.dropped(), 1);
    }

    #[test]
    fn exported_spans_leave_the_queue() {
        let state = Arc::new(ExportState::default());
        let processor = processor(FakeExporter::new([failure("refused")]), Arc::clone(&state));
        for _ in 0..3 {
            processor.on_end(span());
        }
        // Fails, unless the spans were already exported because the interval is over.
        let _ = processor.force_flush();
        assert_eq!(state.dropped(), 3);
        for _ in 0..2 {
            for _ in 0..QUEUE_SPANS {
                processor.on_end(span());
            }
            processor.force_flush().unwrap();
        }
        assert_eq!(state.dropped(), 3);
        assert_eq!(state.queued.load(Ordering::Acquire), 0);
        processor.shutdown().unwrap();
    }
}
