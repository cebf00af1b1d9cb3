//! `gold-not-parsed`: the grader cannot parse the gold, so every rollout of the row is
//! `ungradable`.

use assay_core::{ErrorCode, Fault};

use super::Sink;
use super::code::{Code, Severity};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = Code {
    name: "gold-not-parsed",
    severity: Severity::Error,
    title: "the grader cannot parse the gold",
    found: "\
The grader cannot parse the gold, or the gold needs more work than the step budget allows.",
    why: "\
Every rollout of the row is `ungradable`.",
    remedy: "\
Write the gold as LaTeX, plain ASCII or words. If the gold is empty, check how the dataset was made.",
    example: Some(
        "\
```text
{\"answer\": \"\\\\frac{3}{\"}
```",
    ),
};

pub(super) fn applies(fault: &Fault) -> bool {
    matches!(
        fault.code,
        ErrorCode::GoldUnparsable | ErrorCode::GoldTooCostly
    )
}

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let Some(fault) = row.fault().filter(|fault| applies(fault)) {
        sink.add(&CODE, &row.location, &row.key, fault.message.clone());
    }
}
