//! `duplicate-row`: a row has the same question and the same gold as an earlier row. Reported by
//! [`duplicates`](super::duplicates).

use super::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "duplicate-row",
    severity: Severity::Warning,
    title: "the row has the same question as an earlier row",
};

pub(super) fn message(location: &str) -> String {
    format!("same question as {location}; drop one of them")
}
