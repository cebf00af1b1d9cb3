//! Retractions: "The answer is 41. Wait, that's wrong." A retracted value is not an answer, and the
//! value that replaces it is. Only sentences that say little else are recognised. Doubts, questions
//! and checks retract nothing.

use crate::languages::LANGUAGES;
use crate::phrases::{DEMONSTRATIVES, FAULTS, RETRACTIONS, RIGHTS, SLIPS};
use crate::rule::{Rule, RuleMatch};
use crate::slices::head;
use crate::tokens::{Lexed, TokenKind};
use crate::word_roles::{lower, roles};
use crate::{qualifiers, value_runs};

/// Maximum number of bytes examined in a sentence.
const MAX_SENTENCE_BYTES: usize = 160;

/// Maximum number of words of a retracting clause after its interjections.
const MAX_WORDS: usize = 8;

/// Maximum number of words before the value of a correction.
const MAX_WORDS_BEFORE_VALUE: usize = 6;

/// Marks that end a sentence or set off an interruption.
const ENDS: &[char] = &['.', '\n', '!', '?', '。', '！', '？', '—', '…'];

/// Words that may precede the value of a correction: "I *meant* 42".
const CORRECTING: &[&str] = &[
    "it", "it's", "that", "that's", "i", "mean", "meant", "should", "must", "have", "been", "the",
    "we", "get", "c'est", "es",
];

/// Marks that end a clause of a sentence.
const CLAUSE_ENDS: &[char] = &[',', ';', ':', '(', '，', '；', '：'];

/// The text after the last clause of `text` that retracts what precedes it; the whole text if there
/// is none.
pub(super) fn after_retraction(text: &str) -> &str {
    for start in sentence_starts(text) {
        let sentence = sentence(&text[start..]);
        let is_question = text[start + sentence.len()..].starts_with(['?', '？']);
        if let Some(end) = retraction_end(sentence, &text[..start]).filter(|_| !is_question) {
            return &text[start + end..];
        }
    }
    text
}

/// The value of the last correction in `rest`, the text after a statement: "No, it is 42".
pub(super) fn correction(rest: &str) -> Option<RuleMatch<'_>> {
    sentence_starts(rest).find_map(|start| replacement(head(&rest[start..], MAX_SENTENCE_BYTES)))
}

/// The byte offset of the first letter of each sentence, last sentence first.
fn sentence_starts(text: &str) -> impl Iterator<Item = usize> {
    let sentence_breaks = text
        .rmatch_indices(ENDS)
        .map(|(at, end)| at + end.len())
        .chain([0]);
    sentence_breaks.filter_map(|end| {
        let rest = &text[end..];
        let marks = rest.len()
            - rest
                .trim_start_matches([' ', '*', '_', '>', '(', '"', '“', '#', '-'])
                .len();
        text[end + marks..]
            .starts_with(char::is_alphabetic)
            .then_some(end + marks)
    })
}

/// The first sentence of `rest`.
fn sentence(rest: &str) -> &str {
    let rest = head(rest, MAX_SENTENCE_BYTES);
    &rest[..rest.find(ENDS).unwrap_or(rest.len())]
}

/// The words of a sentence.
fn words(sentence: &str) -> impl Iterator<Item = &str> {
    sentence
        .split(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
}

/// The end of the clause of `sentence` that retracts the text `before` it; `None` if it retracts
/// nothing.
fn retraction_end(sentence: &str, before: &str) -> Option<usize> {
    if let Some(phrase) = RETRACTIONS
        .iter()
        .find(|phrase| starts_with(sentence, phrase))
    {
        return Some(phrase.len());
    }
    // A retraction is: interjections ("Wait,"), a subject that refers to the answer or the writer
    // ("that", "I"), and a fault ("is wrong", "made a mistake") or a negated right ("isn't right").
    let mut words = words(sentence).peekable();
    let mut interjects = false;
    while let Some(word) = words.next_if(|word| roles(word).interjection() || roles(word).opener())
    {
        interjects |= roles(word).interjection();
    }
    let subject = words.next()?;
    let first_person = is_one_of(subject, &["i", "my", "ich", "je", "j'ai"]);
    if !(first_person
        || is_one_of(subject, DEMONSTRATIVES)
        || interjects && is_one_of(subject, FAULTS))
    {
        return None;
    }
    let start = super::slices::byte_range(sentence, subject).start;
    let clause = sentence[start..]
        .split(CLAUSE_ENDS)
        .next()
        .unwrap_or_default();
    // A long clause is an explanation that mentions a mistake.
    if self::words(clause).nth(MAX_WORDS).is_some() {
        return None;
    }
    let denies =
        self::words(clause).any(|word| roles(word).negation() || lower(word).ends_with("n't"));
    let contains = |list: &[&str]| self::words(clause).any(|word| is_one_of(word, list));
    let faulty = if denies {
        contains(RIGHTS)
    } else {
        contains(FAULTS) || interjects && contains(SLIPS)
    };
    // Without an interjection, "that is wrong" may refer to anything. It refers to an answer only
    // if the sentence before names one.
    let refers_to_answer = interjects || first_person || names_answer(last_sentence(before));
    (refers_to_answer && faulty).then_some(start + clause.len())
}

/// Whether `list` contains the word, in any case.
fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&&*lower(word))
}

/// Whether a sentence starts with a phrase, in any case.
fn starts_with(sentence: &str, phrase: &str) -> bool {
    let head = sentence.get(..phrase.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(phrase))
        && !sentence[phrase.len()..].starts_with(char::is_alphabetic)
}

/// The last sentence of `before`, at most its last [`MAX_SENTENCE_BYTES`] bytes.
fn last_sentence(before: &str) -> &str {
    let before =
        before.trim_end_matches(|c: char| ENDS.contains(&c) || c.is_whitespace() || c == '*');
    let near =
        &before[before.ceil_char_boundary(before.len().saturating_sub(MAX_SENTENCE_BYTES))..];
    &near[near.rfind(ENDS).unwrap_or(0)..]
}

/// Whether a sentence contains the name of an answer or a word of a conclusion.
fn names_answer(sentence: &str) -> bool {
    words(sentence).any(|word| {
        let word = lower(word);
        roles(&word).conclusion()
            || LANGUAGES
                .iter()
                .any(|language| language.answer.contains(&&*word))
    })
}

/// The value of a correction: an interjection, a few words that lead to the value, and the value at
/// the end of its clause. A calculation ("Wait, 40 + 2 = 42") is a check and not a correction.
fn replacement(sentence: &str) -> Option<RuleMatch<'_>> {
    let first = words(sentence).find(|word| !roles(word).opener())?;
    if !roles(first).interjection() {
        return None;
    }
    let lexed = Lexed::read(sentence);
    let end = (0..lexed.tokens.len())
        .find(|at| lexed.tokens[*at].kind == TokenKind::Stop)
        .unwrap_or(lexed.tokens.len());
    if lexed
        .tokens
        .get(end)
        .is_some_and(|_| matches!(lexed.str(end), "?" | "？"))
    {
        return None;
    }
    let leads = |at: usize| match lexed.tokens[at].kind {
        TokenKind::Word | TokenKind::Name => {
            let roles = lexed.roles(at);
            let leads =
                roles.verb() || roles.before_value() || is_one_of(lexed.str(at), CORRECTING);
            roles.interjection() || roles.opener() || leads && !roles.negation()
        }
        TokenKind::Separator | TokenKind::Other => true,
        _ => false,
    };
    let at = (0..end)
        .take(MAX_WORDS_BEFORE_VALUE + 1)
        .find(|at| !leads(*at))?;
    if !value_runs::starts_value(&lexed, at) {
        return None;
    }
    let run = value_runs::run_at(&lexed, at)
        .ok()
        .filter(|run| run.strong && run.first == at)?;
    let calculates = lexed.kind(at) != Some(TokenKind::Name)
        && (run.first..run.end).any(|at| lexed.kind(at) == Some(TokenKind::Relation));
    let ends = run.end >= end
        || lexed.kind(run.end) == Some(TokenKind::Separator)
        || lexed.roles(run.end).subordinate()
        || is_one_of(lexed.str(run.end), &["not", "instead", "and"]);
    if calculates || !ends || qualifiers::qualifier_start(&lexed, None, run).is_some() {
        return None;
    }
    qualifiers::signed_value(&lexed, at, run, Rule::Stated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_retracted_text() {
        for text in [
            "It is 41. Wait, that's wrong.",
            "The answer is 41. No, that is not right!",
            "The answer is 41. That is incorrect.",
            "So 41. Hmm, this can't be correct.",
            "So 41. Oops, I made a mistake.",
            "So 41. Sorry, I miscounted.",
            "So 41. I made an error above.",
            "So 41 — wait, wrong.",
            "So 41. Scratch that.",
            "So 41.\n**Wait**, that isn't right.",
            "答案是41。不对。",
            "La réponse est 41. Non, c'est faux.",
            "Die Antwort ist 41. Nein, das ist falsch.",
        ] {
            assert!(after_retraction(text).chars().count() <= 1, "{text}");
        }
        assert_eq!(
            after_retraction("So 41. Wait, that's wrong. So 42."),
            ". So 42."
        );
        assert_eq!(
            after_retraction("So 41. No, that is not right, it is 42"),
            ", it is 42"
        );
        assert_eq!(
            after_retraction("答案是 41。不对，应该是 42"),
            "，应该是 42"
        );
    }

    #[test]
    fn keeps_text_before_doubts_questions_checks_and_remarks() {
        for text in [
            "The answer is 41. Wait, is that wrong?",
            "The answer is 41. Wait, let me check: 40 + 1 = 41.",
            "The answer is 41. Actually, this is a well-known result.",
            "The answer is 41. No other value works.",
            "The answer is 41. No, that's not wrong.",
            "The answer is 41. I don't think there is a mistake.",
            "The answer is 41. This is correct.",
            "共有41种。不对称的有 3 种。",
            "Many guess 43. That is wrong. The rest follows.",
            "The answer is 41. It is easy to make a mistake in the second step by dropping a sign.",
            "It is A. No, B is wrong.",
        ] {
            assert_eq!(after_retraction(text), text);
        }
    }

    #[test]
    fn reads_value_of_a_correction() {
        let replacement = |rest| correction(rest).map(|found| found.text.into_owned());
        for rest in [
            ". No, 42.",
            ". Actually no, it is 42.",
            ". Wait, it should be $42$.",
            ". Sorry, I meant 42, not 41.",
            ".\nCorrection: 42",
            ". Oh wait, it's 42 because one is left over.",
        ] {
            assert_eq!(replacement(rest).as_deref(), Some("42"), "{rest}");
        }
        for rest in [
            ". No, it is not 42.",
            ". Wait, is it 42?",
            ". Actually, 42 is even.",
            ". No 42 of them",
            ". Wait, 40 + 2 = 42.",
            ". It is 42.",
            ". No, it is less than 42.",
        ] {
            assert_eq!(replacement(rest), None, "{rest}");
        }
    }
}
