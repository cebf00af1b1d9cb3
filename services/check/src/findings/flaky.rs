//! `flaky`: the same completion gets different verdicts or scores. Found when golds and solutions
//! are graded several times (`--repeats`).

use std::collections::BTreeMap;

use super::Sink;
use super::code::{Code, Severity};
use crate::graded_row::{GradedRow, ProbeGrade};
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "flaky",
    severity: Severity::Error,
    title: "the same completion gets different verdicts",
    found: "\
The same completion was graded several times (`--repeats`) with different verdicts or scores.
No result is taken from a cache: programs, queries and reward models run each time.",
    why: "\
Rewards depend on chance.",
    remedy: "\
Remove random values and unordered results from the task. Queries on a PostgreSQL server have time
limits, so their verdicts may vary. If verdicts of any other grader vary, report a bug.",
    example: None,
};

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let mut first: BTreeMap<Purpose, &ProbeGrade> = BTreeMap::new();
    for (probe, grade) in row.graded() {
        if !matches!(probe.purpose, Purpose::Gold { .. } | Purpose::Solution) {
            continue;
        }
        let earlier = first.entry(probe.purpose).or_insert(grade);
        if (earlier.verdict, earlier.score.to_bits()) != (grade.verdict, grade.score.to_bits()) {
            let (one, other) = (earlier.verdict, grade.verdict);
            let message = format!(
                "`{}` is graded `{one}` ({}) and then `{other}` ({})",
                probe.excerpt, earlier.score, grade.score
            );
            sink.add(&CODE, &row.location, &row.key, message);
            return;
        }
    }
}
