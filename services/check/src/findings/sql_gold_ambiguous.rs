//! `sql-gold-ambiguous`: the result of a gold query is not deterministic. The grader finds this by
//! reading tables in reverse and by swapping rows that tie.

use assay_core::Fault;

use super::Sink;
use super::code::{Code, Severity};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = Code {
    name: "sql-gold-ambiguous",
    severity: Severity::Error,
    title: "the result of the gold query is not deterministic",
    found: "\
The result of the gold query is not deterministic: a `LIMIT` through a tie or without `ORDER BY`,
`row_number()` over values that tie, or random numbers.",
    why: "\
Right queries are graded as wrong, depending on the order in which the database returns rows.",
    remedy: "\
Order the result of the gold query completely, or change the question so that it has one answer.",
    example: Some(
        "\
```text
select name from staff order by pay limit 1
```",
    ),
};

/// Part of the fault message of the `sql` grader about such a gold.
const CHANCE: &str = "left to chance";

pub(super) fn applies(kind: &str, fault: &Fault) -> bool {
    kind == "sql" && fault.message.contains(CHANCE)
}

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some(kind), Some(fault)) = (row.kind(), row.fault()) else {
        return;
    };
    if applies(kind, fault) {
        sink.add(&CODE, &row.location, &row.key, fault.message.clone());
    }
}
