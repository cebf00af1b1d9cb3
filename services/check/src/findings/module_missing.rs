//! `module-missing`: the task's own code or its reference imports a module that its image does not
//! have.

use assay_core::Fault;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = code!("module-missing", Error);

/// Part of the fault message of the `code` grader about such a module.
const MISSING: &str = "; the image has no module `";

pub(super) fn applies(kind: &str, fault: &Fault) -> bool {
    kind == "code" && fault.message.contains(MISSING)
}

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some(kind), Some(fault)) = (row.kind(), row.fault()) else {
        return;
    };
    if applies(kind, fault) {
        sink.add(&CODE, &row.location, &row.key, fault.message.clone());
    }
}
