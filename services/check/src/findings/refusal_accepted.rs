//! `refusal-accepted`: a refusal passes.

use super::Sink;
use super::code::{Code, Severity};
use super::rule::passed;
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "refusal-accepted",
    severity: Severity::Error,
    title: "a refusal passes",
    found: "\
The completion \"I'm sorry, but I can't help with that request.\" passes.",
    why: "\
A model learns to refuse.",
    remedy: "\
Make the task stricter. For example, without a schema any text is a valid YAML document.",
    example: None,
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
