//! `task-ungradable`: the grader accepts the task but cannot grade with its content, so every
//! rollout of the row is `ungradable`.

use super::code::{Code, code};
use super::{Sink, gold_not_parsed, module_missing, solution_fails, sql_gold_ambiguous};
use crate::graded_row::{GradedRow, is_of_generator};

pub(super) const CODE: Code = code!("task-ungradable", Error);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some(kind), Some(fault)) = (row.kind(), row.fault()) else {
        return;
    };
    let has_other_code = gold_not_parsed::applies(fault)
        || sql_gold_ambiguous::applies(kind, fault)
        || module_missing::applies(kind, fault)
        || solution_fails::applies(kind, fault)
        || is_of_generator(fault);
    if !has_other_code {
        sink.add(&CODE, &row.location, &row.key, fault.message.clone());
    }
}
