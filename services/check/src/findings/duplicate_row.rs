//! `duplicate-row`: a row has the same question and the same gold as an earlier row. Reported by
//! [`duplicates`](super::duplicates).

use super::code::{Code, Severity};

pub(super) const CODE: Code = Code {
    name: "duplicate-row",
    severity: Severity::Warning,
    title: "the row has the same question as an earlier row",
    found: "\
An earlier row, in this dataset or one named before it, has the same question and an equal gold.
Case, punctuation and blanks are ignored. Without a prompt, the whole rows are compared.",
    why: "\
The question counts twice in training. If one of the rows is in the held-out set, that set no longer
measures generalisation.",
    remedy: "\
Drop one of the rows.",
    example: None,
};

pub(super) fn message(location: &str) -> String {
    format!("same question as {location}; drop one of them")
}
