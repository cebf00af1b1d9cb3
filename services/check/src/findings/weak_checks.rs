//! `weak-checks`: a right answer still passes after each of several changes, which usually make an
//! answer wrong.

use super::Sink;
use super::code::{Code, Severity};
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "weak-checks",
    severity: Severity::Warning,
    title: "changes to a right answer are not detected",
    found: "\
A right program, query or mathematical answer passes after each of two to four single changes, such
as another comparison, operator, truth value, sort order or number. The report contains the share of
all wrong answers that were rejected.",
    why: "\
The tests do not check the result of the program, or the tolerance accepts any answer.",
    remedy: "\
Add tests at the boundaries that the changes affect, or narrow `tolerance`.",
    example: None,
};

/// Minimum number of changes for a finding, because a single change may leave an answer right.
const MIN_CHANGES: usize = 2;

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let tried = row
        .graded()
        .filter_map(|(probe, grade)| match probe.purpose {
            Purpose::Variation(change) => Some((change, grade.pass)),
            _ => None,
        });
    let tried: Vec<(&str, bool)> = tried.collect();
    if tried.len() >= MIN_CHANGES && tried.iter().all(|(_, pass)| *pass) {
        let changes: Vec<&str> = tried.iter().map(|(change, _)| *change).collect();
        let message = format!(
            "a right answer still passes after each of these changes: {}; add tests or narrow \
             the tolerance",
            changes.join(", ")
        );
        sink.add(&CODE, &row.location, &row.key, message);
    }
}
