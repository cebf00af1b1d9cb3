//! Metrics of model serving.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use assay_core::{ErrorCode, declare_metrics};
use metrics::{counter, gauge, histogram};

declare_metrics! {
    gauge WAITING = "assay_model_waiting_tokens" [Count]
        "Admitted tokens that are not in a batch yet, over all models.";
    histogram QUEUE_SECONDS = "assay_model_queue_seconds" [Seconds]
        "Time from admission of a sequence to the start of its batch, by model.";
    histogram READ_SECONDS = "assay_model_read_seconds" [Seconds]
        "Time to render and tokenise the inputs of a request, by model.";
    histogram FORWARD_SECONDS = "assay_model_forward_seconds" [Seconds]
        "Time of one forward pass, by model and device.";
    histogram BATCH_TOKENS = "assay_model_batch_tokens" [Count] "Tokens per batch, by model.";
    histogram BATCH_ROWS = "assay_model_batch_rows" [Count] "Sequences per batch, by model.";
    histogram BATCH_LONGEST = "assay_model_batch_longest_tokens" [Count]
        "Tokens of the longest sequence of a batch, by model.";
    histogram BATCH_PADDING = "assay_model_batch_padding_ratio"
        "Share of padding if the sequences of a batch were padded to the longest, by model.";
    counter TOKENS = "assay_model_tokens_total" [Count] "Tokens processed, by model and device.";
    counter FAILURES = "assay_model_batch_failures_total" [Count]
        "Failed batches, including those that succeeded after a split, by model, device and kind \
         of failure.";
    counter REFUSED = "assay_model_rejected_total" [Count]
        "Rejected score requests, by error code.";
    counter LOADS = "assay_model_loads_total" [Count] "Model loads, by model and result.";
    counter CACHE = "assay_model_cache_total" [Count]
        "Cache lookups of sequences, by model and result.";
    counter SATURATED = "assay_model_saturated_groups_total" [Count]
        "Groups of completions whose raw scores differ but whose scores do not, by model.";
    gauge DEVICES = "assay_model_intact_devices" [Count]
        "Devices that have not failed since a model was last loaded.";
}

/// Values of labels.
const REJECTIONS: [ErrorCode; 9] = [
    ErrorCode::UnknownModel,
    ErrorCode::ModelUnavailable,
    ErrorCode::ModelNotLoadable,
    ErrorCode::ModelVersionMismatch,
    ErrorCode::Overloaded,
    ErrorCode::TooManyItems,
    ErrorCode::DeadlineExceeded,
    ErrorCode::ShuttingDown,
    ErrorCode::Internal,
];
const LOAD_RESULTS: [&str; 2] = ["failed", "loaded"];
const CACHE_RESULTS: [&str; 3] = ["hit", "duplicate", "miss"];
const FAILURE_KINDS: [&str; 3] = ["out_of_memory", "panic", "error"];

pub(super) fn describe() {
    describe_all();
    for code in REJECTIONS {
        counter!(REFUSED, "code" => code.as_str()).increment(0);
    }
    for result in LOAD_RESULTS {
        counter!(LOADS, "model" => UNKNOWN, "result" => result).increment(0);
    }
}

/// Counts a group whose normalisation hides the differences between its completions.
pub(crate) fn record_saturated_group(model: &str) {
    counter!(SATURATED, "model" => label(model)).increment(1);
}

/// Maximum number of names used as labels. Names come from requests, and a label is never removed.
const MAX_LABELS: usize = 256;

/// Label of all other names.
const UNKNOWN: &str = "unknown";

/// Names of models that are configured or have been loaded.
static LABELS: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Names of devices.
static DEVICES_USED: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Adds a name to the labels.
pub(super) fn register_label(model: &str) {
    let mut labels = LABELS.write().unwrap_or_else(PoisonError::into_inner);
    if labels.len() < MAX_LABELS {
        labels.insert(model.to_owned());
    }
    drop(labels);
    start_counters(&label(model));
}

/// Adds the names of devices.
pub(super) fn register_devices(devices: impl IntoIterator<Item = String>) {
    let mut known = DEVICES_USED.write().unwrap_or_else(PoisonError::into_inner);
    known.extend(devices);
}

/// Registers the counters of a model, so that its first count is an increase and not a new series.
fn start_counters(model: &str) {
    let model = model.to_owned();
    counter!(SATURATED, "model" => model.clone()).increment(0);
    for result in LOAD_RESULTS {
        counter!(LOADS, "model" => model.clone(), "result" => result).increment(0);
    }
    for result in CACHE_RESULTS {
        counter!(CACHE, "model" => model.clone(), "result" => result).increment(0);
    }
    let devices = DEVICES_USED.read().unwrap_or_else(PoisonError::into_inner);
    for device in devices.iter() {
        let (model, device) = (model.clone(), device.clone());
        counter!(TOKENS, "model" => model.clone(), "device" => device.clone()).increment(0);
        for kind in FAILURE_KINDS {
            let (model, device) = (model.clone(), device.clone());
            counter!(FAILURES, "model" => model, "device" => device, "kind" => kind).increment(0);
        }
    }
}

fn label(model: &str) -> String {
    let labels = LABELS.read().unwrap_or_else(PoisonError::into_inner);
    labels
        .get(model)
        .map_or_else(|| UNKNOWN.to_owned(), Clone::clone)
}

pub(super) fn set_waiting_tokens(tokens: usize) {
    gauge!(WAITING).set(tokens as f64);
}

pub(super) fn record_queue_time(model: &str, duration: Duration) {
    histogram!(QUEUE_SECONDS, "model" => label(model)).record(duration.as_secs_f64());
}

pub(super) fn record_tokenise_time(model: &str, duration: Duration) {
    histogram!(READ_SECONDS, "model" => label(model)).record(duration.as_secs_f64());
}

pub(super) fn set_intact_devices(devices: usize) {
    gauge!(DEVICES).set(devices as f64);
}

/// Records a successful batch: the tokens of its sequences and its duration.
pub(super) fn record_batch(
    model: &str,
    device: &str,
    lengths: impl Iterator<Item = usize>,
    duration: Duration,
) {
    let (rows, tokens, longest) = lengths.fold((0, 0, 0), |(rows, tokens, longest), length| {
        (rows + 1, tokens + length, length.max(longest))
    });
    let device = device.to_owned();
    histogram!(FORWARD_SECONDS, "model" => label(model), "device" => device.clone())
        .record(duration.as_secs_f64());
    histogram!(BATCH_TOKENS, "model" => label(model)).record(tokens as f64);
    histogram!(BATCH_ROWS, "model" => label(model)).record(rows as f64);
    histogram!(BATCH_LONGEST, "model" => label(model)).record(longest as f64);
    histogram!(BATCH_PADDING, "model" => label(model)).record(padding(rows, tokens, longest));
    counter!(TOKENS, "model" => label(model), "device" => device).increment(tokens as u64);
}

/// Share of padding if `rows` sequences with `tokens` in total are padded to `longest`.
fn padding(rows: usize, tokens: usize, longest: usize) -> f64 {
    let padded = rows.saturating_mul(longest);
    if padded == 0 {
        0.0
    } else {
        1.0 - tokens as f64 / padded as f64
    }
}

/// Records a failed batch. `kind` is `out_of_memory`, `panic` or `error`.
pub(super) fn record_failure(model: &str, device: &str, kind: &'static str) {
    let device = device.to_owned();
    counter!(FAILURES, "model" => label(model), "device" => device, "kind" => kind).increment(1);
}

pub(super) fn record_rejection(code: ErrorCode) {
    counter!(REFUSED, "code" => code.as_str()).increment(1);
}

pub(super) fn record_load(model: &str, succeeded: bool) {
    let result = LOAD_RESULTS[usize::from(succeeded)];
    counter!(LOADS, "model" => label(model), "result" => result).increment(1);
}

/// Records the cache lookups of a request: hits, duplicates within the request, and misses.
pub(super) fn record_cache_lookups(model: &str, hits: usize, duplicates: usize, misses: usize) {
    for (result, count) in CACHE_RESULTS.into_iter().zip([hits, duplicates, misses]) {
        counter!(CACHE, "model" => label(model), "result" => result).increment(count as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use metrics::{
        Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
        with_local_recorder,
    };

    use super::*;

    /// Names of described and of used metrics.
    #[derive(Default)]
    struct Names {
        described: Mutex<BTreeSet<String>>,
        used: Mutex<BTreeSet<String>>,
    }

    impl Names {
        fn add_described(&self, name: &KeyName) {
            assert!(
                self.described
                    .lock()
                    .unwrap()
                    .insert(name.as_str().to_owned()),
                "{name:?} twice"
            );
        }

        fn add_used(&self, key: &Key) {
            self.used.lock().unwrap().insert(key.name().to_owned());
        }
    }

    impl Recorder for Names {
        fn describe_counter(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
            self.add_described(&name);
        }

        fn describe_gauge(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
            self.add_described(&name);
        }

        fn describe_histogram(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
            self.add_described(&name);
        }

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            self.add_used(key);
            Counter::noop()
        }

        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            self.add_used(key);
            Gauge::noop()
        }

        fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
            self.add_used(key);
            Histogram::noop()
        }
    }

    #[test]
    fn every_metric_is_listed_described_and_used() {
        let names = Names::default();
        with_local_recorder(&names, || {
            describe();
            set_waiting_tokens(1);
            record_queue_time("m", Duration::ZERO);
            record_tokenise_time("m", Duration::ZERO);
            record_batch("m", "cpu", [3, 4].into_iter(), Duration::ZERO);
            record_failure("m", "cpu", "panic");
            set_intact_devices(1);
            record_rejection(ErrorCode::Overloaded);
            record_load("m", true);
            record_cache_lookups("m", 1, 1, 1);
            record_saturated_group("m");
        });
        let listed: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(listed.len(), NAMES.len());
        assert_eq!(*names.described.lock().unwrap(), listed);
        assert_eq!(*names.used.lock().unwrap(), listed);
    }

    #[test]
    fn unknown_names_share_a_label() {
        register_label("known-one");
        let (known, unknown) = (label("known-one"), label("never-loaded"));
        assert_eq!((known.as_str(), unknown.as_str()), ("known-one", UNKNOWN));
        let labels: BTreeSet<_> = (0..10_000)
            .map(|at| label(&format!("failed-{at}")))
            .collect();
        assert_eq!(labels.len(), 1);
        // Successful loads under new names stop at the limit as well. This fills the labels of the
        // process, which no other test reads.
        (0..10_000).for_each(|at| register_label(&format!("loaded-{at}")));
        assert_eq!(LABELS.read().unwrap().len(), MAX_LABELS);
        assert_eq!(label("loaded-9999"), UNKNOWN);
    }

    #[test]
    fn padding_is_relative_to_the_longest_row() {
        assert!((padding(4, 100, 50) - 0.5).abs() < 1e-12);
        assert!(padding(3, 90, 30).abs() < 1e-12);
        assert!(padding(0, 0, 0).abs() < 1e-12);
    }
}
