//! `gold-not-right`: the gold, written as a completion, does not pass its own task.

use super::{Code, Severity, Sink, told};
use crate::examined::Examined;
use crate::probes::Purpose;

pub(super) const CODE: Code =
    Code { name: "gold-not-right", severity: Severity::Error, title: "the gold does not grade as right" };

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    let wrong = row.graded().find(|(answer, graded)| matches!(answer.purpose, Purpose::Gold(_)) && !graded.pass);
    if let Some((answer, graded)) = wrong {
        let message = format!("the gold, answered as `{}`, is graded {}", answer.shown, told(graded));
        sink.tell(&CODE, &row.place, &row.key, message);
    }
}
