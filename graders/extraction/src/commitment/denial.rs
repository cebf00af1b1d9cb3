//! Denials: words before, after or around an answer that say that it is not the answer.

use std::ops::Range;

use super::{polarity, predicate, question, tentative};
use crate::phrases::retractions::SUBJUNCTIVES;
use crate::qualifiers::{self, Modifier};
use crate::slices::head;
use crate::tokens::Lexed;
use crate::value_runs;
use crate::word_roles::{lower, roles};

/// Maximum number of bytes of a sentence that are examined on each side of an answer.
const MAX_BYTES: usize = 160;

/// Marks that end a sentence.
const ENDS: &[char] = &['.', '\n', '!', '?', '。', '！', '？', '।'];

/// Marks that end a clause.
const CLAUSE_ENDS: &[char] = &[',', ';', ':', '(', ')', '，', '；', '：'];

/// Marks between a sentence and an answer in it that belong to the notation.
const NOTATION: &[char] = &['$', '*', '_', '`', ' ', '{', '}', '\\', '(', '[', ')', ']'];

/// Such marks between an answer and the rest of its sentence. An opening bracket may start a
/// remark.
const AFTER_NOTATION: &[char] = &['$', '*', '_', '`', ' ', '}'];

/// Whether the sentence up to the value of a statement denies or only supposes it: "I do not think
/// the answer is 42", "the wrong answer is 42". The name of the answer is at the byte `name`, and
/// what follows its connector at `value`.
pub(crate) fn denies_clause(text: &str, name: usize, value: usize) -> bool {
    let sentence = &text[sentence_start(text, name)..value];
    let lexed = Lexed::read(sentence);
    let end = lexed.tokens.len();
    if denied_before(&lexed, end) {
        return true;
    }
    tentative::is_supposed(&lexed, end) && {
        let after = Lexed::read(head(&text[value..], MAX_BYTES));
        let end = value_runs::run_at(&after, 0).map_or(1, |run| run.end);
        !tentative::is_confirmed(&after, end)
    }
}

/// The start of the sentence that contains the byte `at`, at most [`MAX_BYTES`] before it.
fn sentence_start(text: &str, at: usize) -> usize {
    let near = text.ceil_char_boundary(at.saturating_sub(MAX_BYTES));
    text[near..at].rfind(ENDS).map_or(near, |end| {
        let mark = text[near + end..].chars().next().map_or(1, char::len_utf8);
        near + end + mark
    })
}

/// Whether the sentence around the box at `place`, or the reply to it, denies the box or only
/// supposes it.
pub(crate) fn denies_box(text: &str, place: Range<usize>) -> bool {
    let sentence = sentence(text, place.clone());
    let before = text[sentence.start..place.start].trim_end_matches(NOTATION);
    let before = Lexed::read(before);
    let end = before.tokens.len();
    // What follows another box refers to that.
    let rest = head(&text[place.end..], MAX_BYTES);
    let rest = without_notation(&rest[..rest.find("boxed").unwrap_or(rest.len())]);
    let after = Lexed::read(rest);
    denies_before(&before)
        || predicate::denies(&after, 0)
        || question::reply(&after, 0) == Some(false) && question::asks_for(&before, end)
        || tentative::is_supposed(&before, end) && !tentative::is_confirmed(&after, 0)
}

/// The sentence around a part of a text, at most [`MAX_BYTES`] on each side.
pub(crate) fn sentence(text: &str, place: Range<usize>) -> Range<usize> {
    let rest = head(&text[place.end..], MAX_BYTES);
    let end = place.end + rest.find(ENDS).unwrap_or(rest.len());
    sentence_start(text, place.start)..end
}

/// Whether the start of a sentence denies or supposes the answer that follows it: "it cannot be",
/// "it is impossible that the result is", "if the answer were".
fn denies_before(lexed: &Lexed<'_>) -> bool {
    let end = lexed.tokens.len();
    if denied_before(lexed, end) || qualifiers::is_excepted(lexed, end) {
        return true;
    }
    let words: Vec<&str> = words(lexed.text).collect();
    let supposed = words
        .iter()
        .rposition(|word| roles(word).supposition())
        .is_some_and(|at| {
            let clause = &words[at..];
            let consequence = clause.iter().any(|word| roles(word).consequent());
            !consequence
                && clause
                    .iter()
                    .any(|word| SUBJUNCTIVES.contains(&&*lower(word)))
        });
    supposed && !lexed.text.contains(CLAUSE_ENDS)
}

/// Whether the words before the token `first` deny the value there.
pub(super) fn denied_before(lexed: &Lexed<'_>, first: usize) -> bool {
    let own = qualifiers::modifier_before(lexed, first) == Modifier::Denied;
    own != polarity::is_denied(lexed, first)
}

/// A text without the marks at its start that close the notation of the box before it.
fn without_notation(after: &str) -> &str {
    let mut rest = after;
    loop {
        let before = rest.len();
        rest = rest.trim_start_matches(AFTER_NOTATION);
        rest = ["\\)", "\\]"]
            .iter()
            .find_map(|close| rest.strip_prefix(close))
            .unwrap_or(rest);
        if rest.len() == before {
            return rest;
        }
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(text: &str) -> bool {
        let start = text.find("\\boxed").unwrap();
        let end = start + text[start..].find('}').unwrap() + 1;
        denies_box(text, start..end)
    }

    #[test]
    fn finds_denied_boxes() {
        for text in [
            r"The answer is not $\boxed{17}$.",
            r"Hence it cannot be \boxed{17}.",
            r"So \boxed{17} is wrong.",
            r"It can't be \boxed{17} because 17 is odd.",
            r"If the answer were \boxed{17}, we would get a contradiction.",
            r"It is impossible that the result is \boxed{17}.",
            r"It is not true that the answer is \boxed{17}.",
            r"We first try \boxed{17}, which fails.",
            r"(The key says \boxed{17}, but that is wrong.)",
            r"\boxed{17} is not the answer.",
            r"Die Antwort ist nicht \boxed{17}.",
            r"La réponse n'est pas \boxed{17}.",
            r"答案不是 \boxed{17}。",
            r"\boxed{17} değil.",
            r"\boxed{17}ではない。",
        ] {
            assert!(denied(text), "{text}");
        }
    }

    #[test]
    fn keeps_boxes_that_a_remark_mentions() {
        for text in [
            r"The answer is \boxed{17}.",
            r"It is not hard to see that the answer is \boxed{17}.",
            r"Since 3 is not a divisor, the answer is \boxed{17}.",
            r"My guess would be \boxed{17} but I cannot verify it.",
            r"If $x = 3$, then the answer is \boxed{17}.",
            r"If Tom starts, he needs \boxed{17} moves.",
            r"The answer is \boxed{17}, not 18.",
            r"\boxed{17} is correct.",
            r"\boxed{17}, which is not possible to simplify further.",
            r"The wrong answer is avoided by checking that we have \boxed{17}.",
            r"There is no other solution than \boxed{17}.",
        ] {
            assert!(!denied(text), "{text}");
        }
    }
}
