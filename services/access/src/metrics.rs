//! Metrics of callers: names, units and descriptions. Labels are names of keys, never keys.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Unit, counter, describe_counter};

const REQUESTS: &str = "assay_key_requests_total";
const ITEMS: &str = "assay_key_items_total";
const MICROSECONDS: &str = "assay_key_grade_microseconds_total";
const EXCEEDED: &str = "assay_key_quota_exceeded_total";
const REFUSED: &str = "assay_callers_refused_total";

/// Names of all metrics of callers.
pub const NAMES: &[&str] = &[REQUESTS, ITEMS, MICROSECONDS, EXCEEDED, REFUSED];

/// Describes the metrics, and registers the counter of refused requests with these reasons, so that
/// the first count is an increase and not a new series.
pub(crate) fn describe(reasons: &'static [&'static str]) {
    describe_counter!(REQUESTS, Unit::Count, "Authenticated requests, by key.");
    describe_counter!(ITEMS, Unit::Count, "Items admitted, by key.");
    describe_counter!(
        MICROSECONDS,
        Unit::Microseconds,
        "Time of grading that was charged, by key."
    );
    describe_counter!(
        EXCEEDED,
        Unit::Count,
        "Requests rejected because a quota was exceeded, by key and quota."
    );
    describe_counter!(
        REFUSED,
        Unit::Count,
        "Requests refused because they had no valid key, by reason."
    );
    for reason in reasons {
        counter!(REFUSED, "reason" => *reason).increment(0);
    }
}

/// Registers the counters of a key, so that its first count is an increase and not a new series.
pub(crate) fn start_counters(key: &Arc<str>, quotas: impl Iterator<Item = &'static str>) {
    for name in [REQUESTS, ITEMS, MICROSECONDS] {
        counter!(name, "key" => Arc::clone(key)).increment(0);
    }
    for quota in quotas {
        counter!(EXCEEDED, "key" => Arc::clone(key), "quota" => quota).increment(0);
    }
}

pub(crate) fn requested(key: &Arc<str>) {
    counter!(REQUESTS, "key" => Arc::clone(key)).increment(1);
}

pub(crate) fn admitted(key: &Arc<str>, items: u64) {
    counter!(ITEMS, "key" => Arc::clone(key)).increment(items);
}

pub(crate) fn spent(key: &Arc<str>, time: Duration) {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    counter!(MICROSECONDS, "key" => Arc::clone(key)).increment(micros);
}

pub(crate) fn exceeded(key: &Arc<str>, quota: &'static str) {
    counter!(EXCEEDED, "key" => Arc::clone(key), "quota" => quota).increment(1);
}

pub(crate) fn refused(reason: &'static str) {
    counter!(REFUSED, "reason" => reason).increment(1);
}
