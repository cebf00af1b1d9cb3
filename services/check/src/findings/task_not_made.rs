//! `task-not-made`: the template fails on a row, or makes something else than a task. Told by
//! [`task_refused::look`](super::task_refused::look).

use super::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "task-not-made",
    severity: Severity::Error,
    title: "the template makes no task of the row",
};
