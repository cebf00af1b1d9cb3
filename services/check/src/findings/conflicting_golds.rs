//! `conflicting-golds`: two rows have the same question and different golds. Reported by
//! [`duplicates`](super::duplicates).

use super::code::{Code, Severity};
use crate::subject::Subject;

pub(super) const CODE: Code = Code {
    name: "conflicting-golds",
    severity: Severity::Error,
    title: "an earlier row has the same question and a different gold",
    found: "\
An earlier row has the same question and a different gold. Golds of `math` tasks are compared in
their normal form, and numbers by value. Programs are not compared: different tests for the same
prompt do not contradict each other.",
    why: "\
At least one of the golds is wrong.",
    remedy: "\
Correct or drop the wrong row. If both golds are right, add what distinguishes the questions to the
prompts.",
    example: None,
};

/// Whether different golds of this type contradict each other. Different tests of a program do not.
pub(super) fn applies(subject: &Subject) -> bool {
    subject.task.kind.as_str() != "code"
}

pub(super) fn message(location: &str, gold: &str) -> String {
    format!("same question as {location}, different gold: `{gold}`; at least one of them is wrong")
}

/// Normalises a decimal number: removes `$`, thousands separators and trailing zeros. Other texts
/// are only trimmed.
pub(super) fn normalise(gold: &str) -> String {
    let gold = gold.trim().trim_matches('$').trim();
    let is_decimal = gold
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | ','));
    let digits = gold.replace(',', "");
    match digits.split_once('.') {
        Some((whole, fraction)) if is_decimal => {
            let fraction = fraction.trim_end_matches('0');
            if fraction.is_empty() {
                whole.to_owned()
            } else {
                format!("{whole}.{fraction}")
            }
        }
        None if is_decimal => digits,
        _ => gold.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn normalises_decimal_numbers_only() {
        assert_eq!(
            (
                normalise("1,200.50"),
                normalise("$5.0$"),
                normalise("1,200")
            ),
            ("1200.5".to_owned(), "5".to_owned(), "1200".to_owned())
        );
        assert_eq!(normalise("(1, 2)"), "(1, 2)");
    }
}
