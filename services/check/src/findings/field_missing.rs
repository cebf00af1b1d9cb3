//! `field-missing`: a row lacks a column that its task needs. Reported by
//! [`task_rejected::check`](super::task_rejected::check).

use super::code::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "field-missing",
    severity: Severity::Error,
    title: "a column that the task needs is missing",
    found: "\
A column that the template reads is missing or null. Without a template, the column `task` is
missing.",
    why: "\
A trainer may read the missing value as an empty gold, and every rollout of the row is then graded
as wrong.",
    remedy: "\
Fill the column or drop the row. If the column has another name, the template does not match the
dataset; `--template` also accepts a file.",
    example: Some(
        "\
```text
{\"question\": \"What is half of 7?\", \"answer\": null}
```",
    ),
};
