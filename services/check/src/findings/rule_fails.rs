//! `rule-fails`: a rule of the team cannot be evaluated on the row. Also reports what these rules
//! found.

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::own_rules::OwnFinding;

pub(super) const CODE: Code = code!("rule-fails", Error);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    for finding in &row.own_findings {
        let (code, message) = match finding {
            OwnFinding::Found { code, message } => (*code, message),
            OwnFinding::Fails(message) => (&CODE, message),
        };
        sink.add(code, &row.location, &row.key, message.clone());
    }
}
