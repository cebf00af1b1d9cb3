//! `task-refused`: a request with this task would be rejected. The rule reports all problems with
//! the task of a row, also those with other codes.

use super::{Code, Severity, Sink};
use crate::graded_row::GradedRow;

pub(crate) const CODE: Code = Code {
    name: "task-refused",
    severity: Severity::Error,
    title: "the grader rejects the task",
};

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let Err(problem) = &row.subject {
        sink.add(
            problem.code,
            &row.location,
            &row.key,
            problem.message.clone(),
        );
    }
}
