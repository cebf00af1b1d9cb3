//! `near-duplicate`: a prompt differs from an earlier one in few words, none of them a figure or
//! code. Seen by [`duplicates`](super::duplicates).

use super::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "near-duplicate",
    severity: Severity::Warning,
    title: "the prompt is nearly that of an earlier row",
};

pub(super) fn message(place: &str, share: f64) -> String {
    format!(
        "its prompt has about {:.0} % of its pairs of words from {place}",
        share * 100.0
    )
}
