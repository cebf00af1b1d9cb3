//! `field-missing`: a row lacks a column that its task is made of. Told by
//! [`task_refused::look`](super::task_refused::look).

use super::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "field-missing",
    severity: Severity::Error,
    title: "the row lacks what its task is made of",
};
