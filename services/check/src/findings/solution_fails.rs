//! `solution-fails`: the solution in the dataset does not pass.

use assay_core::Fault;

use super::code::{Code, Severity};
use super::rule::describe;
use super::{Sink, module_missing};
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "solution-fails",
    severity: Severity::Error,
    title: "the reference solution does not pass",
    found: "\
The reference solution of the dataset, or the `reference` of a `code` task, does not pass.",
    why: "\
The solution or the task is wrong. In both cases, right rollouts may be graded as wrong.",
    remedy: "\
The message contains the verdict. For programs, check whether a test needs a package, a file or more
work than the limits allow.",
    example: Some(
        "\
```text
{\"solution\": \"It is 6 * 8 = 46, so \\\\boxed{46}.\", \"answer\": \"48\"}
```",
    ),
};

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
        .find(|(probe, grade)| probe.purpose == Purpose::Solution && !grade.pass);
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
