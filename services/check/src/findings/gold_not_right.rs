//! `gold-not-right`: the gold, written as a completion, does not pass its own task.

use super::{Code, Severity, Sink, told};
use crate::examined::Examined;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "gold-not-right",
    severity: Severity::Error,
    title: "the gold does not grade as right",
};

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    let of_golds = || {
        row.graded()
            .filter_map(|(answer, graded)| match answer.purpose {
                Purpose::Gold { gold, .. } => Some((gold, answer, graded)),
                _ => None,
            })
    };
    let passes = |gold| of_golds().any(|(other, _, graded)| other == gold && graded.pass);
    if let Some((_, answer, graded)) = of_golds().find(|(gold, ..)| !passes(*gold)) {
        let message = format!(
            "the gold, answered as `{}`, is graded {}",
            answer.shown,
            told(graded)
        );
        sink.tell(&CODE, &row.place, &row.key, message);
    }
}
