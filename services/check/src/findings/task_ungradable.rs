//! `task-ungradable`: the grader accepts the task but cannot grade with its content, so every
//! rollout of the row is `ungradable`.

use super::code::{Code, Severity};
use super::{Sink, gold_not_parsed, module_missing, solution_fails, sql_gold_ambiguous};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = Code {
    name: "task-ungradable",
    severity: Severity::Error,
    title: "the content of the task is invalid, so its rollouts cannot be graded",
    found: "\
The grader accepts the fields of the task, but their content is invalid: a gold query that fails or
has no result, an invalid schema, an expected call that violates the schema of its tool, or an
assertion that does not compile.",
    why: "\
Every rollout of the row is `ungradable`.",
    remedy: "\
Correct the part of the task that the message names.",
    example: Some(
        "\
```text
select name from a_table_that_does_not_exist
```",
    ),
};

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some(kind), Some(fault)) = (row.kind(), row.fault()) else {
        return;
    };
    let has_other_code = gold_not_parsed::applies(fault)
        || sql_gold_ambiguous::applies(kind, fault)
        || module_missing::applies(kind, fault)
        || solution_fails::applies(kind, fault);
    if !has_other_code {
        sink.add(&CODE, &row.location, &row.key, fault.message.clone());
    }
}
