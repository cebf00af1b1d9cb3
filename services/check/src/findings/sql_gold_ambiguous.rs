//! `sql-gold-ambiguous`: the rows of a gold query are left to chance. The grader finds out by
//! reading tables in reverse and by letting rows that tie change places.

use assay_core::Fault;

use super::{Code, Severity, Sink};
use crate::examined::Examined;

pub(super) const CODE: Code = Code {
    name: "sql-gold-ambiguous",
    severity: Severity::Error,
    title: "the gold query does not say what it gives",
};

/// What the grader says of a gold whose rows change when nothing that it asks for does.
const CHANCE: &str = "left to chance";

pub(super) fn applies(kind: &str, fault: &Fault) -> bool {
    kind == "sql" && fault.message.contains(CHANCE)
}

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    let (Some(kind), Some(fault)) = (row.kind(), row.fault()) else {
        return;
    };
    if applies(kind, fault) {
        sink.tell(&CODE, &row.place, &row.key, fault.message.clone());
    }
}
