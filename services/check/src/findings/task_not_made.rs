//! `task-not-made`: the template fails on a row, or its result is not a task. Reported by
//! [`task_refused::check`](super::task_refused::check).

use super::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "task-not-made",
    severity: Severity::Error,
    title: "the template cannot make a task of the row",
    found: "\
The template fails on the row, or its result is not a task: for example, a GSM8K answer without
`####`, or a list where a text is needed.",
    why: "\
The row has no gold that the template can read.",
    remedy: "\
Check the column that the message names. If the row is right, extend the template.",
    example: Some(
        "\
```text
{\"question\": \"What is 1 + 2?\", \"answer\": \"It is 3.\"}
```",
    ),
};
