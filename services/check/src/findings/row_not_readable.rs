//! `row-not-readable`: what stands at a place is no row. Told by the check as it reads.

use super::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "row-not-readable",
    severity: Severity::Error,
    title: "the row cannot be read",
};
