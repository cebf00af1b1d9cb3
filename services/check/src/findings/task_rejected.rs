//! `task-rejected`: a request with this task would be rejected. The rule reports all problems with
//! the task of a row, also those with other codes.

use super::code::{Code, Severity};
use super::sink::Sink;
use super::{field_missing, template_fails};
use crate::graded_row::GradedRow;
use crate::subject::Cause;

pub(crate) const CODE: Code = Code {
    name: "task-rejected",
    severity: Severity::Error,
    title: "the grader rejects the task",
    found: "\
The grader rejects the task: an unknown field, a number where a text is needed, an empty list, or an
unknown `type`. The message contains the JSON pointer of the field.",
    why: "\
A request with this task is rejected as a whole, with all its items.",
    remedy: "\
Correct the field. [GRADERS.md](../GRADERS.md) lists the options of each grader.",
    example: Some(
        "\
```text
{\"task\": {\"type\": \"math\", \"answer\": 7}}
```",
    ),
};

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let Err(problem) = &row.subject {
        let code = match problem.cause {
            Cause::FieldMissing => &field_missing::CODE,
            Cause::TemplateFails => &template_fails::CODE,
            Cause::TaskRejected => &CODE,
        };
        sink.add(code, &row.location, &row.key, problem.message.clone());
    }
}
