//! `duplicate-row`: a row asks what an earlier one asked, with the same gold. Seen by
//! [`duplicates`](super::duplicates).

use super::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "duplicate-row",
    severity: Severity::Warning,
    title: "the row asks what an earlier row asks",
};

pub(super) fn message(place: &str) -> String {
    format!("it asks the same as {place}; drop one of them")
}
