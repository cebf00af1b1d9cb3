//! `near-duplicate`: a prompt differs from an earlier one in few words, none of which contains
//! digits or code. Reported by [`duplicates`](super::duplicates).

use super::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "near-duplicate",
    severity: Severity::Warning,
    title: "the prompt is nearly the same as that of an earlier row",
};

pub(super) fn message(location: &str, share: f64) -> String {
    format!(
        "the prompt shares about {:.0} % of its word pairs with {location}",
        share * 100.0
    )
}
