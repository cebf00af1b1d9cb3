//! `row-not-readable`: a row cannot be read. Reported while reading the file.

use super::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "row-not-readable",
    severity: Severity::Error,
    title: "the row cannot be read",
};
