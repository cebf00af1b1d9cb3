//! `solution-fails`: the solution in the dataset does not pass.

use assay_core::Fault;

use super::code::{Code, code};
use super::rule::describe;
use super::{Sink, module_missing};
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = code!("solution-fails", Error);

/// The verdict on a solution that states no answer.
const NO_ANSWER: &str = "no_answer";

/// Start of the fault message of the `code` grader about the `reference` of a task.
const REFERENCE: &str = "the reference program ";

pub(super) fn applies(kind: &str, fault: &Fault) -> bool {
    kind == "code" && fault.message.starts_with(REFERENCE) && !module_missing::applies(kind, fault)
}

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let (Some(kind), Some(fault)) = (row.kind(), row.fault()) {
        if applies(kind, fault) {
            sink.add(&CODE, &row.location, &row.key, fault.message.clone());
        }
        return;
    }
    let wrong = row
        .graded()
        .find(|(probe, grade)| probe.purpose == Purpose::Solution && !grade.pass)
        // A proof or a derivation need not state the answer again.
        .filter(|(_, grade)| row.kind() != Some("math") || grade.verdict != NO_ANSWER);
    if let Some((_, grade)) = wrong {
        sink.add(
            &CODE,
            &row.location,
            &row.key,
            format!(
                "the solution is graded {}; correct the solution or the task",
                describe(grade)
            ),
        );
    }
}
