//! Rows without a task. Rows that cannot be read are reported while reading the file.

use super::code::{Code, code};
use super::sink::Sink;
use crate::graded_row::GradedRow;
use crate::subject::Cause;

pub(crate) const ROW_NOT_READABLE: Code = code!("row-not-readable", Error);
pub(super) const FIELD_MISSING: Code = code!("field-missing", Error);
pub(super) const TEMPLATE_FAILS: Code = code!("template-fails", Error);
pub(super) const TASK_REJECTED: Code = code!("task-rejected", Error);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    if let Err(problem) = &row.subject {
        let code = match problem.cause {
            Cause::FieldMissing => &FIELD_MISSING,
            Cause::TemplateFails => &TEMPLATE_FAILS,
            Cause::TaskRejected => &TASK_REJECTED,
        };
        sink.add(code, &row.location, &row.key, problem.message.clone());
    }
}
