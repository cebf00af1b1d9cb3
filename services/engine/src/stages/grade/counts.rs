//! Counts graded units for the metrics.

use std::collections::BTreeMap;

use ::metrics::Histogram;

use super::GradedUnit;
use crate::metrics;

/// Counts graded units. Finding a counter by its labels takes as long as grading a number, so it is
/// found once for many units.
#[derive(Default)]
pub(super) struct GradedCounts {
    /// By grader, outcome, verdict, error code and whether the outcome was cached.
    units: BTreeMap<(&'static str, &'static str, &'static str, &'static str, bool), u64>,
    /// Times of grading and in the queue, by grader.
    times: BTreeMap<&'static str, [Histogram; 2]>,
}

impl GradedCounts {
    pub(super) fn add(&mut self, unit: &GradedUnit) {
        let (grader, outcome) = (unit.spec.name, &unit.outcome);
        let verdict = outcome.grade().map_or("", |grade| grade.verdict.as_str());
        let code = outcome.fault().map_or("", |fault| fault.code.as_str());
        let labels = (grader, outcome.as_str(), verdict, code, unit.cached);
        *self.units.entry(labels).or_default() += 1;
        let times = self.times.entry(grader);
        let [grading, in_queue] = times.or_insert_with(|| metrics::times(grader));
        grading.record(metrics::seconds(unit.grade_us));
        in_queue.record(metrics::seconds(unit.queue_us));
    }

    /// Adds the counts to the counters.
    pub(super) fn flush(&mut self) {
        for ((grader, outcome, verdict, code, cached), units) in std::mem::take(&mut self.units) {
            metrics::grades(grader, outcome, verdict, code, cached).increment(units);
        }
    }
}

impl Drop for GradedCounts {
    fn drop(&mut self) {
        self.flush();
    }
}
