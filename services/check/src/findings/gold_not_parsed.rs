//! `gold-not-parsed`: the grader cannot parse the gold, so every rollout of the row is
//! `ungradable`.

use assay_core::{ErrorCode, Fault};

use super::{Code, Severity, Sink};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = Code {
    name: "gold-not-parsed",
    severity: Severity::Error,
    title: "the grader cannot parse the gold",
};

pub(super) fn applies(fault: &Fault) -> bool {
    matches!(
        fault.code,
        ErrorCode::GoldUnparsable | ErrorCode::GoldTooCostly
    )
}

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let Some(fault) = row.fault().filter(|fault| applies(fault)) {
        sink.add(&CODE, &row.location, &row.key, fault.message.clone());
    }
}
