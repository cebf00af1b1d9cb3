//! `weak-checks`: a right answer still passes after each of several changes, which usually make an
//! answer wrong.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = code!("weak-checks", Warning);

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
