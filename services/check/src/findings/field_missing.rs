//! `field-missing`: a row lacks a column that its task needs. Reported by
//! [`task_refused::check`](super::task_refused::check).

use super::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "field-missing",
    severity: Severity::Error,
    title: "a column that the task needs is missing",
};
