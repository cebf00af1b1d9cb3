//! `conflicting-golds`: two rows ask the same and have different golds. Seen by
//! [`duplicates`](super::duplicates).

use super::{Code, Severity};
use crate::subject::Subject;

pub(super) const CODE: Code = Code {
    name: "conflicting-golds",
    severity: Severity::Error,
    title: "the row asks what an earlier row asks and has another gold",
};

/// Whether two golds of this type that differ contradict each other. Other tests of a program do
/// not.
pub(super) fn applies(subject: &Subject) -> bool {
    subject.task.kind.as_str() != "code"
}

pub(super) fn message(place: &str, gold: &str) -> String {
    format!(
        "it asks the same as {place} and has another gold: `{gold}`; at least one of them is wrong"
    )
}

/// A decimal number without what does not change its value; any other text as it is.
pub(super) fn plain(gold: &str) -> String {
    let gold = gold.trim().trim_matches('$').trim();
    let is_decimal = gold
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | ','));
    let digits = gold.replace(',', "");
    match digits.split_once('.') {
        Some((whole, places)) if is_decimal => {
            let places = places.trim_end_matches('0');
            if places.is_empty() {
                whole.to_owned()
            } else {
                format!("{whole}.{places}")
            }
        }
        None if is_decimal => digits,
        _ => gold.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn numbers_are_compared_by_value_and_texts_as_they_are() {
        assert_eq!(
            (plain("1,200.50"), plain("$5.0$"), plain("1,200")),
            ("1200.5".to_owned(), "5".to_owned(), "1200".to_owned())
        );
        assert_eq!(plain("(1, 2)"), "(1, 2)");
    }
}
