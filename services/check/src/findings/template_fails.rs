//! `template-fails`: the template fails on a row, or its result is not a task. Reported by
//! [`task_rejected::check`](super::task_rejected::check).

use super::code::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "template-fails",
    severity: Severity::Error,
    title: "the template cannot make a task from the row",
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
