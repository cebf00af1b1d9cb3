//! `flaky`: the same completion gets different verdicts or scores. Found when golds and solutions
//! are graded several times (`--repeats`).

use std::collections::BTreeMap;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, ProbeGrade};
use crate::probes::Purpose;

pub(super) const CODE: Code = code!("flaky", Error);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let mut first: BTreeMap<Purpose, &ProbeGrade> = BTreeMap::new();
    for (probe, grade) in row.graded() {
        if !matches!(probe.purpose, Purpose::Gold { .. } | Purpose::Solution) {
            continue;
        }
        let earlier = first.entry(probe.purpose).or_insert(grade);
        if (&earlier.verdict, earlier.score.to_bits()) != (&grade.verdict, grade.score.to_bits()) {
            let (one, other) = (&earlier.verdict, &grade.verdict);
            let message = format!(
                "`{}` is graded `{one}` ({}) and then `{other}` ({})",
                probe.excerpt, earlier.score, grade.score
            );
            sink.add(&CODE, &row.location, &row.key, message);
            return;
        }
    }
}
