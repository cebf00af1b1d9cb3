//! `weak-checks`: of several changes to a right answer, each of which makes it wrong as a rule,
//! none is noticed.

use super::{Code, Severity, Sink};
use crate::examined::Examined;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "weak-checks",
    severity: Severity::Warning,
    title: "changes to a right answer are not noticed",
};

/// Fewest changes that say something together. One alone may well leave an answer right.
const FEWEST: usize = 2;

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    let tried = row
        .graded()
        .filter_map(|(answer, graded)| match answer.purpose {
            Purpose::Variation(what) => Some((what, graded.pass)),
            _ => None,
        });
    let tried: Vec<(&str, bool)> = tried.collect();
    if tried.len() >= FEWEST && tried.iter().all(|(_, pass)| *pass) {
        let changes: Vec<&str> = tried.iter().map(|(what, _)| *what).collect();
        let message = format!(
            "it passes with each of these changed: {}; add tests that tell",
            changes.join(", ")
        );
        sink.tell(&CODE, &row.place, &row.key, message);
    }
}
