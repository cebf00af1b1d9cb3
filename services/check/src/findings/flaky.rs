//! `flaky`: the same completion is graded now so and now otherwise. Seen when golds and solutions
//! are graded several times.

use std::collections::BTreeMap;

use super::{Code, Severity, Sink};
use crate::examined::{Examined, Graded};
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "flaky",
    severity: Severity::Error,
    title: "the same completion gets different verdicts",
};

pub(super) fn look(row: &Examined, sink: &mut Sink<'_>) {
    let mut first: BTreeMap<Purpose, &Graded> = BTreeMap::new();
    for (answer, graded) in row.graded() {
        if !matches!(answer.purpose, Purpose::Gold { .. } | Purpose::Solution) {
            continue;
        }
        let before = first.entry(answer.purpose).or_insert(graded);
        if (before.verdict, before.score.to_bits()) != (graded.verdict, graded.score.to_bits()) {
            let (one, other) = (before.verdict, graded.verdict);
            let message = format!(
                "`{}` is graded `{one}` ({}) and `{other}` ({})",
                answer.shown, before.score, graded.score
            );
            sink.tell(&CODE, &row.place, &row.key, message);
            return;
        }
    }
}
