//! `gold-brittle`: the gold passes, but a right answer in another form does not.

use super::Sink;
use super::code::{Code, code};
use super::rule::describe;
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = code!("gold-brittle", Warning);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let passes = |purpose| matches!(purpose, Purpose::Gold { .. });
    if !row
        .graded()
        .any(|(probe, grade)| passes(probe.purpose) && grade.pass)
    {
        return;
    }
    let rejected = row.graded().find_map(|(probe, grade)| match probe.purpose {
        Purpose::Variant(form) if !grade.pass => Some((form, probe, grade)),
        _ => None,
    });
    if let Some((form, probe, grade)) = rejected {
        let message = format!(
            "{form}, written as `{}`, is graded {}; shorten the gold or list it as another gold",
            probe.excerpt,
            describe(grade)
        );
        sink.add(&CODE, &row.location, &row.key, message);
    }
}
