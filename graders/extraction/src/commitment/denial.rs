//! Denials: words before, after or around an answer that say that it is not the answer.

use std::ops::Range;

use crate::characters::{is_ideographic, is_spaced};
use crate::languages::LANGUAGES;
use crate::phrases::PARTICLES;
use crate::phrases::retractions::{FAILS, FAULTS, RIGHTS, SUBJUNCTIVES};
use crate::qualifiers::{self, Modifier};
use crate::slices::head;
use crate::tokens::{Lexed, TokenKind};
use crate::word_roles::{lower, roles};

/// Maximum number of bytes of a sentence that are examined on each side of an answer.
const MAX_BYTES: usize = 160;

/// Maximum number of words between a verb and the fault that it states: "is most likely wrong".
const MAX_WORDS: usize = 3;

/// Marks that end a sentence.
const ENDS: &[char] = &['.', '\n', '!', '?', '。', '！', '？', '।'];

/// Marks that end a clause.
const CLAUSE_ENDS: &[char] = &[',', ';', ':', '(', ')', '，', '；', '：'];

/// Marks between a sentence and an answer in it that belong to the notation.
const NOTATION: &[char] = &['$', '*', '_', '`', ' ', '{', '}', '\\', '(', '[', ')', ']'];

/// Whether the words after the token before `end` deny the value there: "42 değil", "42 ではない",
/// "42 is wrong".
pub(super) fn denied_after(lexed: &Lexed<'_>, end: usize) -> bool {
    let word = |at: usize| matches!(lexed.kind(at), Some(TokenKind::Word | TokenKind::Name));
    let particle = word(end) && PARTICLES.contains(&lexed.str(end));
    let at = end + usize::from(particle);
    if !word(at) {
        return false;
    }
    if lexed.roles(at).denies_after() || starts_with_denial(lexed.str(at)) {
        return true;
    }
    let says = lexed.roles(at).verb() || is_one_of(lexed.str(at), &["would", "can't", "cannot"]);
    says && (at + 1..lexed.tokens.len())
        .take(MAX_WORDS)
        .take_while(|at| word(*at))
        .any(|at| is_one_of(lexed.str(at), FAULTS))
}

/// Whether a token of a script without blanks between words starts with a denial.
fn starts_with_denial(word: &str) -> bool {
    word.starts_with(|c| !is_spaced(c))
        && LANGUAGES
            .iter()
            .flat_map(|language| language.not_after)
            .any(|denial| word.starts_with(denial))
}

/// The sentence around the box at `place`, if it denies the box or only supposes it.
pub(crate) fn denies_box(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let near = &text[..place.start];
    let near = &near[near.ceil_char_boundary(near.len().saturating_sub(MAX_BYTES))..];
    let before = &near[near.rfind(ENDS).map_or(0, |end| {
        end + near[end..].chars().next().map_or(1, char::len_utf8)
    })..];
    let rest = head(&text[place.end..], MAX_BYTES);
    let after = &rest[..rest.find(ENDS).unwrap_or(rest.len())];
    // What follows an opening bracket or another box refers to that.
    let own = &after[..after.find('(').unwrap_or(after.len())];
    let own = &own[..own.find("boxed").unwrap_or(own.len())];
    let denied = denies_before(before) || refutes(own);
    denied.then(|| place.start - before.len()..place.end + after.len())
}

/// Whether the start of a sentence denies or supposes the answer that follows it: "it cannot be",
/// "it is impossible that the result is", "if the answer were".
fn denies_before(before: &str) -> bool {
    let before = before.trim_end_matches(NOTATION);
    let lexed = Lexed::read(before);
    let end = lexed.tokens.len();
    if qualifiers::modifier_before(&lexed, end) == Modifier::Denied {
        return true;
    }
    // The denial of a clause that contains the answer: "it is not true that the answer is".
    let words: Vec<&str> = words(before).collect();
    let clause = words
        .iter()
        .rposition(|word| is_one_of(word, &["that", "dass", "que", "che"]));
    let clause_is_false = clause.is_some_and(|clause| {
        let says = &words[..clause];
        let verdict = says
            .last()
            .is_some_and(|word| is_one_of(word, FAULTS) || is_one_of(word, RIGHTS));
        verdict && is_false(says)
    });
    let supposed = words
        .iter()
        .rposition(|word| roles(word).supposition())
        .is_some_and(|at| {
            let clause = &words[at..];
            let consequence = clause.iter().any(|word| roles(word).consequent());
            !consequence && clause.iter().any(|word| is_one_of(word, SUBJUNCTIVES))
        });
    clause_is_false || supposed && !before.contains(CLAUSE_ENDS)
}

/// Whether the words after an answer in its sentence refute it: "is wrong", ", which fails", ", but
/// that is impossible".
fn refutes(after: &str) -> bool {
    let after = after.trim_start_matches(NOTATION);
    if starts_with_denial(after) || after.starts_with(is_ideographic) && starts_with_fault(after) {
        return true;
    }
    let mut clauses = after.split(CLAUSE_ENDS);
    let first: Vec<&str> = clauses
        .next()
        .map(|clause| words(clause).collect())
        .unwrap_or_default();
    if predicate(&first) {
        return true;
    }
    clauses.take(2).any(|clause| {
        let mut words = words(clause).peekable();
        while words.next_if(|word| roles(word).opener()).is_some() {}
        let subject = words.next();
        let refers = subject.is_some_and(|word| {
            is_one_of(word, &["which", "that", "this", "it", "was", "ce", "lo"])
                || is_one_of(word, &["that's", "it's"])
        });
        let contracted = subject.is_some_and(|word| lower(word).ends_with("'s"));
        let rest: Vec<&str> = words.collect();
        refers && (predicate(&rest) || contracted && is_false(&rest))
    })
}

fn starts_with_fault(after: &str) -> bool {
    let after = after.trim_start_matches(['是', '也']);
    ["错", "不对", "不正确", "不成立", "不是答案"]
        .iter()
        .any(|fault| after.starts_with(fault))
}

/// Whether the words after a subject refute it: "fails", "is wrong", "isn't correct", "değil".
fn predicate(words: &[&str]) -> bool {
    let Some((verb, rest)) = words.split_first() else {
        return false;
    };
    if is_one_of(verb, FAILS) || roles(verb).denies_after() {
        return true;
    }
    let negated = lower(verb).ends_with("n't") || lower(verb) == "cannot";
    let says = roles(verb).verb() || negated || is_one_of(verb, &["would", "does", "did", "must"]);
    // The fault ends the clause: "is wrong", but not "is possible to write as".
    says && rest.len() <= MAX_WORDS + 1
        && is_false(words)
        && rest.last().is_some_and(|last| {
            is_one_of(last, FAULTS)
                || is_one_of(last, RIGHTS)
                || is_one_of(last, FAILS)
                || is_one_of(last, &["answer", "work", "hold"])
        })
}

/// Whether words state a fault or deny that something is right.
fn is_false(words: &[&str]) -> bool {
    let negated = words
        .iter()
        .any(|word| roles(word).negation() || lower(word).ends_with("n't"));
    let among = |list: &[&str]| words.iter().any(|word| is_one_of(word, list));
    if negated {
        among(RIGHTS) || among(&["answer", "work", "hold"])
    } else {
        among(FAULTS)
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
}

/// Whether `list` contains the word, in any case.
fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&&*lower(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(text: &str) -> bool {
        let start = text.find("\\boxed").unwrap();
        let end = start + text[start..].find('}').unwrap() + 1;
        denies_box(text, start..end).is_some()
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
