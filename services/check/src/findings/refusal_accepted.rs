//! `refusal-accepted`: a refusal passes.

use super::{Code, Severity, Sink, passed};
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "refusal-accepted",
    severity: Severity::Error,
    title: "a refusal passes",
};

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let Some((_, excerpt)) = passed(row, |purpose| purpose == Purpose::Refusal) {
        sink.add(
            &CODE,
            &row.location,
            &row.key,
            format!("the refusal `{excerpt}` passes; make the task stricter"),
        );
    }
}
