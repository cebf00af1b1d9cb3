//! The metrics of the engine: names, units and descriptions.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use assay_core::{ErrorCode, GraderTable, Verdict, declare_metrics};
use assay_record::Appeal;
use metrics::{Counter, Histogram, counter, gauge, histogram};

declare_metrics! {
    counter GRADES = "assay_grades_total" [Count]
        "Graded units by grader, outcome, verdict, error code and whether the outcome was cached.";
    histogram GRADE_SECONDS = "assay_grade_seconds" [Seconds] "Time to grade a unit, by grader.";
    histogram QUEUE_SECONDS = "assay_queue_seconds" [Seconds]
        "Time from admission until a worker took a unit, by grader.";
    histogram BATCH_SECONDS = "assay_batch_seconds" [Seconds]
        "Time from admission of a batch until its last result.";
    gauge IN_FLIGHT = "assay_items_in_flight" [Count]
        "Items that are admitted and not yet answered.";
    gauge CALLER_ITEMS = "assay_caller_items_in_flight";
    gauge CALLER_BYTES = "assay_caller_bytes_in_flight";
    counter REFUSED = "assay_batches_rejected_total" [Count]
        "Requests rejected because too much was in progress, by the setting that limits it and by \
         whether the caller itself used its share.";
    counter UNRECORDED = "assay_grades_unrecorded_total" [Count]
        "Grades with `recorded: false` because they could not be recorded.";
    counter TRUNCATED = "assay_items_truncated_total" [Count]
        "Items whose completion was truncated, by `meta.truncated`.";
    counter APPEALS = "assay_appeals_total" [Count]
        "Verdicts that were sent to a judge, by grader, judge, side and result.";
}

/// Outcomes without a score, with the error codes that graders report.
const FAULTS: &[(&str, ErrorCode)] = &[
    ("ungradable", ErrorCode::GoldUnparsable),
    ("ungradable", ErrorCode::GoldTooCostly),
    ("ungradable", ErrorCode::TaskAtFault),
    ("failed", ErrorCode::GraderPanicked),
    ("failed", ErrorCode::GraderUnavailable),
    ("failed", ErrorCode::SandboxFailed),
    ("failed", ErrorCode::ShuttingDown),
    ("failed", ErrorCode::Internal),
];

/// Registers the counters with all label values that are known, so that the first count is an
/// increase and not a new series. `judges` are names of graders, by policies, and
/// `settings` those that limit requests.
pub(crate) fn start_counters(
    graders: &GraderTable,
    judges: &BTreeSet<&str>,
    settings: [&'static str; 2],
) {
    for spec in graders.iter().map(|grader| grader.spec()) {
        let verdicts = spec.verdicts.iter().map(|verdict| verdict.verdict);
        let verdicts = verdicts.chain([Verdict::TOO_LONG]);
        let graded = verdicts.map(|verdict| ("graded", verdict.as_str(), ""));
        let faults = FAULTS
            .iter()
            .map(|(outcome, code)| (*outcome, "", code.as_str()));
        for (outcome, verdict, code) in graded.chain(faults) {
            grades(spec.name, outcome, verdict, code, false).increment(0);
            // Failures are not cached.
            if spec.deterministic && outcome != "failed" {
                grades(spec.name, outcome, verdict, code, true).increment(0);
            }
        }
        for judge in judges.iter().filter_map(|name| graders.by_name(name)) {
            for side in SIDES {
                for result in Appeal::RESULTS {
                    appeals(
                        spec.name.into(),
                        judge.spec().id().to_string(),
                        side,
                        result,
                    )
                    .increment(0);
                }
            }
        }
    }
    for setting in settings {
        for by in ["caller", "all"] {
            refusals(setting, by).increment(0);
        }
    }
    unrecorded(0);
    truncated(0);
}

pub(crate) fn grades(
    grader: &'static str,
    outcome: &'static str,
    verdict: &'static str,
    code: &'static str,
    cached: bool,
) -> Counter {
    let cached = if cached { "true" } else { "false" };
    counter!(
        GRADES,
        "grader" => grader,
        "outcome" => outcome,
        "verdict" => verdict,
        "code" => code,
        "cached" => cached
    )
}

/// Whether verdicts pass.
const SIDES: [&str; 2] = ["negative", "positive"];

fn appeals(
    grader: Cow<'static, str>,
    judge: String,
    side: &'static str,
    result: &'static str,
) -> Counter {
    counter!(APPEALS, "grader" => grader, "judge" => judge, "side" => side, "result" => result)
}

fn refusals(setting: &'static str, by: &'static str) -> Counter {
    counter!(REFUSED, "setting" => setting, "used_by" => by)
}

/// The histograms of times of grading and in the queue.
pub(crate) fn times(grader: &'static str) -> [Histogram; 2] {
    [GRADE_SECONDS, QUEUE_SECONDS].map(|name| histogram!(name, "grader" => grader))
}

pub(crate) fn appealed(grader: Cow<'static, str>, passes: bool, appeal: &Appeal) {
    let side = SIDES[usize::from(passes)];
    appeals(grader, appeal.judge.clone(), side, appeal.as_str()).increment(1);
}

pub(crate) fn batch(span: Duration) {
    histogram!(BATCH_SECONDS).record(span.as_secs_f64());
}

pub(crate) fn in_flight(items: usize) {
    gauge!(IN_FLIGHT).set(items as f64);
}

pub(crate) fn refused(setting: &'static str, own: bool) {
    let by = if own { "caller" } else { "all" };
    refusals(setting, by).increment(1);
}

pub(crate) fn truncated(items: u64) {
    counter!(TRUNCATED).increment(items);
}

pub(crate) fn unrecorded(items: usize) {
    counter!(UNRECORDED).increment(items as u64);
}

pub(crate) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
