//! The metrics of the engine: names, units and descriptions.

use std::time::Duration;

use assay_core::{Outcome, Spec};
use assay_record::Appeal;
use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

const GRADES: &str = "assay_grades_total";
const GRADE_SECONDS: &str = "assay_grade_seconds";
const QUEUE_SECONDS: &str = "assay_queue_seconds";
const BATCH_SECONDS: &str = "assay_batch_seconds";
const IN_FLIGHT: &str = "assay_items_in_flight";
pub(crate) const CALLER_ITEMS: &str = "assay_caller_items_in_flight";
pub(crate) const CALLER_BYTES: &str = "assay_caller_bytes_in_flight";
const REFUSED: &str = "assay_batches_rejected_total";
const UNRECORDED: &str = "assay_grades_unrecorded_total";
const APPEALS: &str = "assay_appeals_total";

/// Names of all metrics of the engine.
pub const NAMES: &[&str] = &[
    GRADES,
    GRADE_SECONDS,
    QUEUE_SECONDS,
    BATCH_SECONDS,
    IN_FLIGHT,
    CALLER_ITEMS,
    CALLER_BYTES,
    REFUSED,
    UNRECORDED,
    APPEALS,
];

pub(crate) fn describe() {
    describe_counter!(
        GRADES,
        Unit::Count,
        "Graded units by grader, outcome, verdict and whether the outcome was cached."
    );
    describe_histogram!(
        GRADE_SECONDS,
        Unit::Seconds,
        "Time to grade a unit, by grader."
    );
    describe_histogram!(
        QUEUE_SECONDS,
        Unit::Seconds,
        "Time from admission until a worker took a unit, by grader."
    );
    describe_histogram!(
        BATCH_SECONDS,
        Unit::Seconds,
        "Time from admission of a batch until its last result."
    );
    describe_gauge!(
        IN_FLIGHT,
        Unit::Count,
        "Items that are admitted and not yet answered."
    );
    describe_counter!(
        REFUSED,
        Unit::Count,
        "Requests rejected because too much was in progress, by the setting that limits it and by \
         whether the caller itself used its share."
    );
    describe_counter!(
        APPEALS,
        Unit::Count,
        "Verdicts that were sent to a judge, by grader, judge, side and result."
    );
    describe_counter!(
        UNRECORDED,
        Unit::Count,
        "Grades with `recorded: false` because they could not be recorded."
    );
}

pub(crate) fn graded(
    spec: &'static Spec,
    outcome: &Outcome,
    cached: bool,
    queue_us: u64,
    grade_us: u64,
) {
    let grader = spec.name;
    let verdict = outcome.grade().map_or("", |grade| grade.verdict.as_str());
    let cached = if cached { "true" } else { "false" };
    counter!(
        GRADES,
        "grader" => grader,
        "outcome" => outcome.as_str(),
        "verdict" => verdict,
        "cached" => cached
    )
    .increment(1);
    histogram!(GRADE_SECONDS, "grader" => grader).record(seconds(grade_us));
    histogram!(QUEUE_SECONDS, "grader" => grader).record(seconds(queue_us));
}

pub(crate) fn appealed(spec: &'static Spec, passes: bool, appeal: &Appeal) {
    let side = if passes { "positive" } else { "negative" };
    counter!(
        APPEALS,
        "grader" => spec.name,
        "judge" => appeal.judge.clone(),
        "side" => side,
        "result" => appeal.as_str()
    )
    .increment(1);
}

pub(crate) fn batch(span: Duration) {
    histogram!(BATCH_SECONDS).record(span.as_secs_f64());
}

pub(crate) fn in_flight(items: usize) {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    gauge!(IN_FLIGHT).set(items as f64);
}

pub(crate) fn refused(setting: &'static str, own: bool) {
    let by = if own { "caller" } else { "all" };
    counter!(REFUSED, "setting" => setting, "used_by" => by).increment(1);
}

pub(crate) fn unrecorded(items: usize) {
    counter!(UNRECORDED).increment(items as u64);
}

#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds of a grade are far below 2^53"
)]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
