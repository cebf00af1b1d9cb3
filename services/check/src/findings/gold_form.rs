//! The gold of a `math` task is not one answer: a note, a sentence or a proof (`gold-note`), or
//! several answers, or one answer to several questions (`gold-ambiguous`).

use std::sync::LazyLock;

use regex::Regex;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};
use crate::probes::is_number;
use crate::reading::any_phrase;

pub(super) const NOTE: Code = code!("gold-note", Warning);
pub(super) const AMBIGUOUS: Code = code!("gold-ambiguous", Warning);

/// Phrases of notes and proofs, in lower case.
static NOTES: LazyLock<Regex> = LazyLock::new(|| {
    any_phrase(&[
        "proof",
        "answers may vary",
        "answer may vary",
        "see above",
        "see below",
        "see solution",
        "the answer is",
        "answer:",
        "because",
        "therefore",
        "hence",
        "q.e.d",
        "note:",
        "we have",
        "approximately",
        "approx",
        "about",
        "to be determined",
        "sample answer",
        "varies",
        "correct answer",
        "which means",
        "so that",
        "as required",
        "thus",
    ])
});

/// Number of words that make a gold a sentence.
const SENTENCE: usize = 7;

/// Words that begin a question, in lower case.
const QUESTIONS: &[&str] = &[
    "how ",
    "what ",
    "when ",
    "which ",
    "where ",
    "who ",
    "find ",
    "calculate ",
];

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let Ok(subject) = &row.subject else { return };
    let Some(gold) = subject.math_gold() else {
        return;
    };
    if let Some(what) = note(gold) {
        let message = format!("the gold `{}` {what}; keep only the answer", excerpt(gold));
        sink.add(&NOTE, &row.location, &row.key, message);
    } else if let Some(what) = alternatives(gold) {
        let message = format!(
            "the gold `{}` {what}; list each as a gold of its own",
            excerpt(gold)
        );
        sink.add(&AMBIGUOUS, &row.location, &row.key, message);
    } else if is_number(gold) && subject.prompt.as_deref().is_some_and(asks_twice) {
        let message = format!("the prompt asks several questions, but the gold is only `{gold}`");
        sink.add(&AMBIGUOUS, &row.location, &row.key, message);
    }
}

fn note(gold: &str) -> Option<String> {
    let lower = gold.to_lowercase();
    if let Some(phrase) = NOTES.find(&lower) {
        let phrase = phrase.as_str();
        return Some(format!("contains `{phrase}`"));
    }
    let is_word = |word: &&str| {
        word.chars().count() > 1
            && word
                .chars()
                .all(|c| c.is_alphabetic() || matches!(c, ',' | '.' | '\''))
    };
    let words = gold.split_whitespace().filter(is_word).count();
    (words >= SENTENCE && !gold.contains('\\')).then(|| "is a sentence".to_owned())
}

fn alternatives(gold: &str) -> Option<&'static str> {
    let is_value = |part: &str| is_number(part.trim().trim_matches('$'));
    let plain = gold
        .replace("\\text{ or }", " or ")
        .replace("\\text{or}", " or ");
    let mut parts = plain.split(" or ");
    (parts.clone().count() > 1 && parts.all(is_value)).then_some("gives several answers")
}

/// Whether a prompt ends with two questions, or has parts with several.
fn asks_twice(prompt: &str) -> bool {
    if prompt.matches('?').count() < 2 {
        return false;
    }
    let lower = prompt.to_lowercase();
    if lower.contains("(a)") && lower.contains("(b)") && !lower.contains("(d)") {
        return true;
    }
    let mut sentences: Vec<&str> = lower
        .trim()
        .split_inclusive(['?', '.', '!', '\n'])
        .collect();
    sentences.retain(|sentence| !sentence.trim().is_empty());
    let [.., one, other] = sentences.as_slice() else {
        return false;
    };
    let asks = |sentence: &str| {
        let sentence = sentence.trim();
        sentence.ends_with('?') && QUESTIONS.iter().any(|start| sentence.starts_with(start))
    };
    asks(one) && asks(other)
}

#[cfg(test)]
mod tests {
    use super::{alternatives, asks_twice, note};

    #[test]
    fn finds_notes_and_sentences() {
        for gold in [
            "Proof by induction",
            "about 5",
            "12 because it doubles",
            "He sold all of his books on Sunday evening",
        ] {
            assert!(note(gold).is_some(), "{gold}");
        }
        for gold in [
            "5",
            "x = 2",
            "Monday",
            "\\text{the sum of all the primes below ten here}",
            "blue and red",
        ] {
            assert_eq!(note(gold), None, "{gold}");
        }
    }

    #[test]
    fn finds_several_answers() {
        assert!(alternatives("3 or 5").is_some() && alternatives("3\\text{ or }5").is_some());
        assert!(alternatives("x = 1 or x = 2").is_none() && alternatives("5").is_none());
        assert!(asks_twice(
            "He has 5. How many are left? What do they cost?"
        ));
        assert!(!asks_twice("Did he eat? Yes, two. How many are left?"));
    }
}
