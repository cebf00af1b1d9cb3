//! The metrics of the record: names, units and descriptions.

use std::time::Duration;

use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

const SYNC_SECONDS: &str = "assay_store_sync_seconds";
const COMMIT_ENTRIES: &str = "assay_store_commit_entries";
const SPOOLED_BYTES: &str = "assay_store_spooled_bytes_total";
const APPEND_FAILURES: &str = "assay_store_append_failures_total";
const PENDING_ENTRIES: &str = "assay_store_pending_entries";
const PENDING_BYTES: &str = "assay_store_pending_bytes";
const SPOOL_SEGMENTS: &str = "assay_store_spool_segments";
const APPLY_SECONDS: &str = "assay_store_apply_seconds";
const APPLIED_ENTRIES: &str = "assay_store_applied_entries_total";
const APPLY_FAILURES: &str = "assay_store_apply_failures_total";
const RECORDING: &str = "assay_store_recording";
const APPLYING: &str = "assay_store_applying";
const PRUNE_SECONDS: &str = "assay_store_prune_seconds";
const PRUNED_GRADES: &str = "assay_store_pruned_grades_total";
const SET_ASIDE: &str = "assay_store_set_aside_entries";

/// Names of all metrics of the record.
pub const NAMES: &[&str] = &[
    SYNC_SECONDS,
    COMMIT_ENTRIES,
    SPOOLED_BYTES,
    APPEND_FAILURES,
    PENDING_ENTRIES,
    PENDING_BYTES,
    SPOOL_SEGMENTS,
    APPLY_SECONDS,
    APPLIED_ENTRIES,
    APPLY_FAILURES,
    RECORDING,
    APPLYING,
    SET_ASIDE,
    PRUNE_SECONDS,
    PRUNED_GRADES,
];

/// Describes the metrics to the installed recorder, and registers the counters, so that the first
/// count is an increase and not a new series.
pub(crate) fn describe() {
    describe_histogram!(
        SYNC_SECONDS,
        Unit::Seconds,
        "Time of one write and fdatasync of the spool."
    );
    describe_histogram!(
        COMMIT_ENTRIES,
        Unit::Count,
        "Entries that shared one write and fdatasync."
    );
    describe_counter!(SPOOLED_BYTES, Unit::Bytes, "Bytes appended to the spool.");
    describe_counter!(
        APPEND_FAILURES,
        Unit::Count,
        "Commits that could not be written or synced; their entries are not recorded."
    );
    describe_gauge!(
        PENDING_ENTRIES,
        Unit::Count,
        "Entries recorded but not in the database yet."
    );
    describe_gauge!(
        PENDING_BYTES,
        Unit::Bytes,
        "Memory used by entries that are not in the database yet."
    );
    describe_gauge!(
        SPOOL_SEGMENTS,
        Unit::Count,
        "Segment files of the spool, each of 64 MiB or slightly more."
    );
    describe_histogram!(
        APPLY_SECONDS,
        Unit::Seconds,
        "Time of one transaction that applies entries to the database."
    );
    describe_counter!(
        APPLIED_ENTRIES,
        Unit::Count,
        "Entries applied to the database."
    );
    describe_counter!(
        APPLY_FAILURES,
        Unit::Count,
        "Transactions that failed and are retried; the entries stay in the spool."
    );
    describe_gauge!(
        RECORDING,
        Unit::Count,
        "1 if the last append to the spool succeeded, 0 if grades cannot be recorded."
    );
    describe_gauge!(
        APPLYING,
        Unit::Count,
        "1 if the last transaction succeeded, 0 if entries cannot be applied to the database."
    );
    describe_histogram!(
        PRUNE_SECONDS,
        Unit::Seconds,
        "Time of one transaction that deletes from the database."
    );
    describe_counter!(
        PRUNED_GRADES,
        Unit::Count,
        "Grades deleted from the database."
    );
    describe_gauge!(
        SET_ASIDE,
        Unit::Count,
        "Entries that the database rejected, kept in the spool's folder until `assay record \
         set-aside --apply` applies them."
    );
    for name in [
        SPOOLED_BYTES,
        APPEND_FAILURES,
        APPLIED_ENTRIES,
        APPLY_FAILURES,
        PRUNED_GRADES,
    ] {
        counter!(name).increment(0);
    }
}

pub(crate) fn synced(took: Duration) {
    histogram!(SYNC_SECONDS).record(took);
}

pub(crate) fn committed(entries: usize, bytes: usize) {
    histogram!(COMMIT_ENTRIES).record(entries as f64);
    counter!(SPOOLED_BYTES).increment(bytes as u64);
}

pub(crate) fn append_failed() {
    counter!(APPEND_FAILURES).increment(1);
}

pub(crate) fn pending(entries: usize, bytes: usize) {
    gauge!(PENDING_ENTRIES).set(entries as f64);
    gauge!(PENDING_BYTES).set(bytes as f64);
}

pub(crate) fn spool_segments(segments: usize) {
    gauge!(SPOOL_SEGMENTS).set(segments as f64);
}

pub(crate) fn applied(took: Duration, entries: usize) {
    histogram!(APPLY_SECONDS).record(took);
    counter!(APPLIED_ENTRIES).increment(entries as u64);
}

pub(crate) fn recording(works: bool) {
    gauge!(RECORDING).set(f64::from(u8::from(works)));
}

pub(crate) fn applying(works: bool) {
    gauge!(APPLYING).set(f64::from(u8::from(works)));
}

pub(crate) fn set_aside(entries: u64) {
    gauge!(SET_ASIDE).set(entries as f64);
}

pub(crate) fn pruned(took: Duration, grades: u64) {
    histogram!(PRUNE_SECONDS).record(took);
    counter!(PRUNED_GRADES).increment(grades);
}

pub(crate) fn apply_failed() {
    counter!(APPLY_FAILURES).increment(1);
}
