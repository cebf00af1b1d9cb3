//! `math`: the gold is written in a box. Mutants are another number or the next letter. In golds of
//! other forms, a number is changed.

use assay_core::Completion;

use super::math_variants::right_variants;
use super::probe::{Probe, Prober, Purpose, plain};
use crate::reading::has_phrase;
use crate::subject::Subject;

pub(super) const PROBER: Prober = Prober {
    name: "math",
    gold: &["answer"],
    golds: |subject| {
        subject
            .texts("answer")
            .into_iter()
            .map(|gold| vec![completion(subject, gold)])
            .collect()
    },
    variants: |subject| {
        let golds = subject.texts("answer");
        let [gold] = golds.as_slice() else {
            return Vec::new();
        };
        let variants = right_variants(gold).into_iter();
        variants
            .map(|(form, answer)| (form, completion(subject, &answer)))
            .collect()
    },
    wrong_completions,
    tries_prompt: |subject| {
        let prompt = subject.prompt.as_deref().unwrap_or_default();
        let contains = |gold: &&str| has_phrase(prompt, gold.trim().trim_matches('$').trim());
        subject.texts("answer").iter().any(contains)
    },
    ..Prober::BASE
};

/// Writes an answer as a completion: in a box, or without one if the whole completion is extracted.
fn completion(subject: &Subject, answer: &str) -> Completion {
    if subject.text("extract") == Some("whole") || answer.contains("\\boxed") {
        return plain(answer);
    }
    plain(&format!("The answer is \\boxed{{{answer}}}."))
}

/// Mutants that are wrong with any tolerance: a number at least ten times as large, the opposite
/// sign, the next letter. Golds of other forms have only variations, which are probably wrong.
fn wrong_completions(subject: &Subject) -> Vec<Probe> {
    let golds = subject.texts("answer");
    let [gold] = golds.as_slice() else {
        return Vec::new();
    };
    let gold = gold.trim().trim_matches('$').trim();
    let probe = |description, answer: String| {
        Probe::new(Purpose::Mutant(description), completion(subject, &answer))
    };
    if let Some(letter) = choice_letter(gold) {
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
        return change_numbers(gold)
            .map(|(change, answer)| {
                Probe::new(Purpose::Variation(change), completion(subject, &answer))
            })
            .collect();
    }
    let mut probes = vec![probe(
        "another number",
        format!("{sign}91{}", digits.trim_start_matches('0')),
    )];
    if digits.chars().any(|c| matches!(c, '1'..='9')) {
        let opposite = if sign.is_empty() { "-" } else { "" };
        probes.push(probe("the opposite sign", format!("{opposite}{digits}")));
    }
    probes
}

/// The gold with its first number changed, and with its last number changed. A single number is
/// changed in two ways.
///
/// Both are needed, because a number may be part of a name (`x_1 = 5`) or without effect (`10^0`).
fn change_numbers(gold: &str) -> impl Iterator<Item = (&'static str, String)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let (first, last) = (gold.find(is_digit), gold.rfind(is_digit));
    let before = |at: usize| format!("{}91{}", &gold[..at], &gold[at..]);
    let after = |at: usize| format!("{}37{}", &gold[..=at], &gold[at + 1..]);
    let first = first.map(|at| ("the first number", before(at)));
    first
        .into_iter()
        .chain(last.map(|at| ("the last number", after(at))))
}

/// The letter of a multiple-choice gold, from `A` to `D`.
fn choice_letter(gold: &str) -> Option<char> {
    let mut characters = gold.chars();
    let letter = characters.next()?;
    (characters.next().is_none() && ('A'..='D').contains(&letter)).then_some(letter)
}
