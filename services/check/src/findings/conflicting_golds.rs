//! `conflicting-golds`: two rows ask the same and have different golds. Seen by [`duplicates`](super::duplicates).

use super::{Code, Severity};
use crate::subject::Subject;

pub(super) const CODE: Code = Code {
    name: "conflicting-golds",
    severity: Severity::Error,
    title: "the row asks what an earlier row asks and has another gold",
};

/// Whether two golds of this type that differ contradict each other. Other tests of a program do not.
pub(super) fn applies(subject: &Subject) -> bool {
    subject.task.kind.as_str() != "code"
}

pub(super) fn message(place: &str, gold: &str) -> String {
    format!("it asks the same as {place} and has another gold: `{gold}`; at least one of them is wrong")
}
