//! The metrics of the process.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::traces;
use crate::{NodeError, log_lines};

/// Counter of log lines that could not be written to stderr.
const DROPPED: &str = "assay_log_lines_dropped_total";

/// Counter of spans that could not be exported.
const SPANS_DROPPED: &str = "assay_spans_dropped_total";

/// Upper bounds of histogram buckets, in seconds: from 10 µs to 30 s, by factors of about 3.
const SECONDS: &[f64] = &[
    1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0, 30.0,
];

/// Upper bounds of histogram buckets of counts.
const ENTRIES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1024.0];

/// How often the values of histograms are summed. A node records some millions in this time.
const INTERVAL: Duration = Duration::from_secs(1);

/// Starts collecting metrics and returns a function that returns the text of `/metrics`. All nodes
/// of a process share one collector.
///
/// # Errors
/// If the process already has another collector.
pub fn metrics() -> Result<Arc<dyn Fn() -> String + Send + Sync>, NodeError> {
    let handle = collector()?;
    Ok(Arc::new(move || {
        metrics::counter!(DROPPED).absolute(log_lines::dropped());
        metrics::counter!(SPANS_DROPPED).absolute(traces::dropped());
        handle.render()
    }))
}

fn collector() -> Result<PrometheusHandle, NodeError> {
    static COLLECTOR: OnceLock<Result<PrometheusHandle, String>> = OnceLock::new();
    let collector = COLLECTOR.get_or_init(|| {
        let handle = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
            .and_then(|builder| {
                builder.set_buckets_for_metric(Matcher::Suffix("_entries".to_owned()), ENTRIES)
            })
            .and_then(PrometheusBuilder::install_recorder)
            .map_err(|error| error.to_string())?;
        metrics::describe_counter!(DROPPED, "Log lines that could not be written to stderr.");
        metrics::describe_counter!(SPANS_DROPPED, "Spans that could not be exported.");
        Ok(handle)
    });
    collector.clone().map_err(NodeError::Metrics)
}

/// Adds the recorded values of histograms to their buckets for as long as the future is polled. The
/// collector keeps every value until then, and a node may never be asked for its metrics.
pub(crate) async fn sum_regularly() {
    sum_every(INTERVAL).await;
}

async fn sum_every(interval: Duration) {
    let Ok(handle) = collector() else { return };
    loop {
        tokio::time::sleep(interval).await;
        handle.run_upkeep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::free_memory::{resident, return_free};

    #[tokio::test]
    async fn values_of_histograms_do_not_accumulate() {
        const VALUES: u64 = 32_000_000;
        const NAME: &str = "values_that_do_not_accumulate_seconds";
        let text = metrics().unwrap();
        let before = resident().unwrap();
        let summing = tokio::spawn(sum_every(Duration::from_millis(10)));
        let values = metrics::histogram!(NAME);
        for _ in 0..100 {
            for _ in 0..VALUES / 100 {
                values.record(0.5);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Other tests of this process take memory for a short time.
        let limit = before + VALUES * 8 / 4;
        let returned = async {
            while resident().unwrap() > limit {
                tokio::time::sleep(Duration::from_millis(10)).await;
                return_free();
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(30), returned).await;
        assert!(in_time.is_ok(), "{} bytes", resident().unwrap());
        summing.abort();
        assert!(text().contains(&format!("{NAME}_count {VALUES}")));
    }
}
