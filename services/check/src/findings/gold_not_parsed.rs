//! `gold-not-parsed`: the grader cannot parse the gold, so every rollout of the row is
//! `ungradable`.

use assay_core::{ErrorCode, Fault};

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = code!("gold-not-parsed", Error);

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
