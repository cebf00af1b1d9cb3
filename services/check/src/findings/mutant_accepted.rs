//! `mutant-accepted`: a completion that is wrong for any task passes.

use super::{Code, Severity, Sink, passed};
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "mutant-accepted",
    severity: Severity::Error,
    title: "a deliberately wrong completion passes",
};

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let Some((Purpose::Mutant(description), _)) =
        passed(row, |purpose| matches!(purpose, Purpose::Mutant(_)))
    {
        sink.add(
            &CODE,
            &row.location,
            &row.key,
            format!("{description} passes; make the task stricter"),
        );
    }
}
