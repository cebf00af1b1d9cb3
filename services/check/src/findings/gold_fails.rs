//! `gold-fails`: the gold, written as a completion, does not pass its own task.

use super::Sink;
use super::code::{Code, Severity};
use super::rule::describe;
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "gold-fails",
    severity: Severity::Error,
    title: "the gold does not pass its own task",
    found: "\
The gold, written as a completion, does not pass its own task.

| type | completion |
|---|---|
| `math` | the gold in a box |
| `sql` | the query in a fenced block |
| `code` | the `reference` in a fenced block |
| `tools` | the expected calls in the form of the task, with and without optional arguments |
| `structured` | the expected value as a document |",
    why: "\
Right rollouts may be graded as wrong.",
    remedy: "\
Look for prose around the gold, a stray backslash, a gold with two answers, or options that
contradict the gold (`form`, `units`, `extract`).",
    example: Some(
        "\
```text
{\"answer\": \"185\\\\\"}
```",
    ),
};

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
