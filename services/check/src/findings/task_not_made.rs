//! `task-not-made`: the template fails on a row, or its result is not a task. Reported by
//! [`task_refused::check`](super::task_refused::check).

use super::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "task-not-made",
    severity: Severity::Error,
    title: "the template cannot make a task of the row",
};
