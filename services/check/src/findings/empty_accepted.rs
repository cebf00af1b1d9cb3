//! `empty-accepted`: an empty completion passes.

use super::Sink;
use super::code::{Code, Severity};
use super::rule::passed;
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "empty-accepted",
    severity: Severity::Error,
    title: "an empty completion passes",
    found: "\
An empty completion passes. Tasks of `tools` that expect no call are not reported.",
    why: "\
A model learns to answer nothing.",
    remedy: "\
Make the task stricter, for example with an expected value or more tests.",
    example: None,
};

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if passed(row, |purpose| purpose == Purpose::Empty).is_some() {
        sink.add(
            &CODE,
            &row.location,
            &row.key,
            "an empty completion passes; make the task stricter".to_owned(),
        );
    }
}
