//! `mutant-accepted`: a completion that is wrong for any task passes.

use super::Sink;
use super::code::{Code, Severity};
use super::rule::passed;
use crate::graded_row::GradedRow;
use crate::probes::Purpose;

pub(super) const CODE: Code = Code {
    name: "mutant-accepted",
    severity: Severity::Error,
    title: "a deliberately wrong completion passes",
    found: "\
A deliberately wrong completion passes: another number or letter, a program that does nothing, a
program whose tested function returns a constant or its first argument, a query without rows, calls
of other tools or with other arguments, or a document with other values.",
    why: "\
A model finds the wrong completion sooner than the right one.",
    remedy: "\
Add tests that reject the mutant named in the message, or make the task stricter. If the mutant is
right, for example because the program should return that constant, add the finding to a baseline.",
    example: Some(
        "\
```text
assert smaller(1, 2) == 1  # the only test, so returning the first argument passes
```",
    ),
};

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let Some((Purpose::Mutant(description), _)) =
        passed(row, |purpose| matches!(purpose, Purpose::Mutant(_)))
    {
        sink.add(
            &CODE,
            &row.location,
            &row.key,
            format!("{description} passes; make the task stricter"),
        );
    }
}
