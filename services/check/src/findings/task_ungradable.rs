//! `task-ungradable`: the grader accepts the shape of the task and cannot grade by its content, so
//! every rollout of the row is `ungradable`.

use super::{Code, Severity, Sink, gold_not_parsed, solution_fails, sql_gold_ambiguous};
use crate::examined::Examined;

pub(super) const CODE: Code = Code {
    name: "task-ungradable",
    severity: Severity::Error,
    title: "the content of the task is at fault, so that nothing can be graded by it",
};

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    let (Some(kind), Some(fault)) = (row.kind(), row.fault()) else {
        return;
    };
    let otherwise = gold_not_parsed::applies(fault)
        || sql_gold_ambiguous::applies(kind, fault)
        || solution_fails::applies(kind, fault);
    if !otherwise {
        sink.tell(&CODE, &row.place, &row.key, fault.message.clone());
    }
}
