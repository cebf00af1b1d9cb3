//! `math`: the gold in a box; wrong is another number, or the next letter. Of golds of other shapes
//! a number is changed.

use assay_core::Completion;
use serde_json::Value;

use super::{Kind, Probe, Purpose, text};
use crate::subject::Subject;

pub(super) const KIND: Kind = Kind {
    name: "math",
    gold: &["answer"],
    golds: |subject| {
        answers(subject)
            .into_iter()
            .map(|gold| vec![written(subject, gold)])
            .collect()
    },
    solution: text,
    wants_something: |_| true,
    wrong,
};

fn answers(subject: &Subject) -> Vec<&str> {
    match subject.body.get("answer") {
        Some(Value::String(gold)) => vec![gold],
        Some(Value::Array(golds)) => golds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// An answer as a completion: in a box, or bare where the completion is the answer.
fn written(subject: &Subject, answer: &str) -> Completion {
    if subject.body.get("extract").and_then(Value::as_str) == Some("whole")
        || answer.contains("\\boxed")
    {
        return text(answer);
    }
    text(&format!("The answer is \\boxed{{{answer}}}."))
}

/// Answers that differ from the gold whatever is tolerated: ten times as much and more, the other
/// sign, the next letter. Golds of other shapes have no neighbour of which that is certain, only
/// some of which it is likely.
fn wrong(subject: &Subject) -> Vec<Probe> {
    let golds = answers(subject);
    let [gold] = golds.as_slice() else {
        return Vec::new();
    };
    let gold = gold.trim().trim_matches('$').trim();
    let probe = |what, answer: String| Probe::new(Purpose::Mutant(what), written(subject, &answer));
    if let Some(letter) = lone_letter(gold) {
        let next = if letter.eq_ignore_ascii_case(&'d') {
            b'A'
        } else {
            letter.to_ascii_uppercase() as u8 + 1
        };
        return vec![probe("the next letter", char::from(next).to_string())];
    }
    let (sign, digits) = gold
        .strip_prefix('-')
        .map_or(("", gold), |digits| ("-", digits));
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
        && digits.matches('.').count() <= 1;
    if !is_number {
        return changed(gold)
            .map(|(what, answer)| Probe::new(Purpose::Variation(what), written(subject, &answer)))
            .collect();
    }
    let mut probes = vec![probe(
        "another number",
        format!("{sign}91{}", digits.trim_start_matches('0')),
    )];
    if digits.chars().any(|c| matches!(c, '1'..='9')) {
        let other = if sign.is_empty() { "-" } else { "" };
        probes.push(probe("the other sign", format!("{other}{digits}")));
    }
    probes
}

/// A gold with its first number changed, and with its last; the same one of both where there is but
/// one, in two ways.
///
/// A number may be a name (`x_1 = 5`) or without effect (`10^0`), so one change alone says nothing.
fn changed(gold: &str) -> impl Iterator<Item = (&'static str, String)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let (first, last) = (gold.find(is_digit), gold.rfind(is_digit));
    let before = |at: usize| format!("{}91{}", &gold[..at], &gold[at..]);
    let behind = |at: usize| format!("{}37{}", &gold[..=at], &gold[at + 1..]);
    let first = first.map(|at| ("its first number", before(at)));
    first
        .into_iter()
        .chain(last.map(|at| ("its last number", behind(at))))
}

/// The letter that a gold is, when it is one of the first letters of a choice.
fn lone_letter(gold: &str) -> Option<char> {
    let mut characters = gold.chars();
    let letter = characters.next()?;
    (characters.next().is_none() && ('A'..='D').contains(&letter)).then_some(letter)
}
