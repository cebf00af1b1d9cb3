//! `near-duplicate`: a prompt differs from an earlier one in few words, none of which contains
//! digits or code. Reported by [`duplicates`](super::duplicates).

use super::code::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "near-duplicate",
    severity: Severity::Warning,
    title: "the prompt is nearly the same as that of an earlier row",
    found: "\
The prompt shares at least 80 % of its word pairs with an earlier prompt, as estimated by MinHash,
and has the same numbers and code. Only prompts of at least 20 words are compared.",
    why: "\
The question counts twice in training, as with [`duplicate-row`](duplicate-row.md).",
    remedy: "\
Compare both prompts. If they ask for different things, such as the first and the last, keep both.",
    example: None,
};

pub(super) fn message(location: &str, share: f64) -> String {
    format!(
        "the prompt shares about {:.0} % of its word pairs with {location}",
        share * 100.0
    )
}
