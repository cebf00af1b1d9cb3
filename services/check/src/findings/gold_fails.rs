//! `gold-fails`: the gold, written as a completion, does not pass its own task.

use super::Sink;
use super::code::{Code, code};
use super::rule::describe;
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = code!("gold-fails", Error);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let golds = || {
        row.graded()
            .filter_map(|(probe, grade)| match probe.purpose {
                Purpose::Gold { gold, .. } => Some((gold, probe, grade)),
                _ => None,
            })
    };
    let passes = |gold| golds().any(|(other, _, grade)| other == gold && grade.pass);
    if let Some((_, probe, grade)) = golds().find(|(gold, ..)| !passes(*gold)) {
        let message = format!(
            "the gold, written as `{}`, is graded {}; correct the gold or the options of the task",
            probe.excerpt,
            describe(grade)
        );
        sink.add(&CODE, &row.location, &row.key, message);
    }
}
