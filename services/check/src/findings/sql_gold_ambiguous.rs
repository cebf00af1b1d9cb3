//! `sql-gold-ambiguous`: the result of a gold query is not deterministic. The grader finds this by
//! reading tables in reverse and by swapping rows that tie.

use assay_core::Fault;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = code!("sql-gold-ambiguous", Error);

/// Part of the fault message of the `sql` grader about such a gold.
const CHANCE: &str = "left to chance";

pub(super) fn applies(kind: &str, fault: &Fault) -> bool {
    kind == "sql" && fault.message.contains(CHANCE)
}

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some(kind), Some(fault)) = (row.kind(), row.fault()) else {
        return;
    };
    if applies(kind, fault) {
        sink.add(&CODE, &row.location, &row.key, fault.message.clone());
    }
}
