//! `solution-fails`: what the dataset says is a solution does not pass.

use assay_core::Fault;

use super::{Code, Severity, Sink, told};
use crate::examined::Examined;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "solution-fails",
    severity: Severity::Error,
    title: "the reference solution does not pass",
};

/// How the grader of programs begins what it says of a task's own `reference`.
const REFERENCE: &str = "the reference program ";

pub(super) fn applies(kind: &str, fault: &Fault) -> bool {
    kind == "code" && fault.message.starts_with(REFERENCE)
}

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    if let (Some(kind), Some(fault)) = (row.kind(), row.fault()) {
        if applies(kind, fault) {
            sink.tell(&CODE, &row.place, &row.key, fault.message.clone());
        }
        return;
    }
    let wrong = row
        .graded()
        .find(|(answer, graded)| answer.purpose == Purpose::Solution && !graded.pass);
    if let Some((_, graded)) = wrong {
        sink.tell(
            &CODE,
            &row.place,
            &row.key,
            format!("the solution is graded {}", told(graded)),
        );
    }
}
