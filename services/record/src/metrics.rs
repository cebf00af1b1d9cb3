//! The metrics of the record: names, units and descriptions.

use std::time::Duration;

use assay_core::declare_metrics;
use metrics::{counter, gauge, histogram};

declare_metrics! {
    histogram SYNC_SECONDS = "assay_store_sync_seconds" [Seconds]
        "Time of one write and fdatasync of the spool.";
    histogram COMMIT_ENTRIES = "assay_store_commit_entries" [Count]
        "Entries that shared one write and fdatasync.";
    counter SPOOLED_BYTES = "assay_store_spooled_bytes_total" [Bytes]
        "Bytes appended to the spool.";
    counter APPEND_FAILURES = "assay_store_append_failures_total" [Count]
        "Commits that could not be written or synced; their entries are not recorded.";
    gauge PENDING_ENTRIES = "assay_store_pending_entries" [Count]
        "Entries recorded but not in the database yet.";
    gauge PENDING_BYTES = "assay_store_pending_bytes" [Bytes]
        "Memory used by entries that are not in the database yet.";
    gauge SPOOL_SEGMENTS = "assay_store_spool_segments" [Count]
        "Segment files of the spool, each of 64 MiB or slightly more.";
    histogram APPLY_SECONDS = "assay_store_apply_seconds" [Seconds]
        "Time of one transaction that applies entries to the database.";
    counter APPLIED_ENTRIES = "assay_store_applied_entries_total" [Count]
        "Entries applied to the database.";
    counter APPLY_FAILURES = "assay_store_apply_failures_total" [Count]
        "Transactions that failed and are retried; the entries stay in the spool.";
    gauge RECORDING = "assay_store_recording" [Count]
        "1 if the last append to the spool succeeded, 0 if grades cannot be recorded.";
    gauge APPLYING = "assay_store_applying" [Count]
        "1 if the last transaction succeeded, 0 if entries cannot be applied to the database.";
    gauge SET_ASIDE = "assay_store_set_aside_entries" [Count]
        "Entries that the database rejected, kept in the spool's folder until `assay record \
         set-aside --apply` applies them.";
    histogram PRUNE_SECONDS = "assay_store_prune_seconds" [Seconds]
        "Time of one transaction that deletes from the database.";
    counter PRUNED_GRADES = "assay_store_pruned_grades_total" [Count]
        "Grades deleted from the database.";
}

/// Describes the metrics to the installed recorder, and registers the counters, so that the first
/// count is an increase and not a new series.
pub(crate) fn describe() {
    describe_all();
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
