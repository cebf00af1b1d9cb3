//! Two bare statements next to each other that contradict: "The answer is 4. The answer is 3." With
//! a word of correction or of a conclusion between them, the last one decides.

use std::borrow::Cow;

use crate::rule::{Rule, RuleMatch};
use crate::slices::tail;
use crate::word_roles::{Joiner, lower};

/// Maximum number of bytes before a statement that are searched for the one next to it.
const MAX_BYTES: usize = 160;

/// Maximum number of words for what the first value counts: "4 red apples".
const MAX_COUNTED_WORDS: usize = 2;

/// Words that may precede the name of an answer in a bare statement.
const BARE: &[&str] = &["the", "final", "correct", "my", "la", "die", "a", "il"];

/// Both values, as alternatives, if the statement whose name is at the byte `at` follows a
/// different one directly. Only plain numbers and letters are compared, since other texts may be
/// two forms of one value. `previous` is the last statement of the text that it is given, with the
/// byte offset of its name.
pub(crate) fn contradiction<'a>(
    text: &'a str,
    at: usize,
    found: &RuleMatch<'a>,
    previous: impl Fn(&'a str) -> Option<(usize, RuleMatch<'a>)>,
) -> Option<RuleMatch<'a>> {
    let value = crate::slices::byte_range(text, found.source);
    // "The answer to part (b) is 5" is about something else than the statement before it.
    if !is_plain(&found.text) || !is_bare(&text[at..value.start]) {
        return None;
    }
    let mut before = text[..at].trim_end_matches(is_layout);
    while let Some(word) = last_word(before).filter(|word| BARE.contains(&&*lower(word))) {
        before = before[..before.len() - word.len()].trim_end_matches(is_layout);
    }
    let separated = text[before.len()..at].contains('\n');
    if !separated && !before.ends_with(['.', '!', '。', '！', '।']) {
        return None;
    }
    let near = tail(before, MAX_BYTES);
    let (name, other) = previous(near)?;
    let range = crate::slices::byte_range(near, other.source);
    if !is_plain(&other.text) || !is_bare(&near[name..range.start]) {
        return None;
    }
    let (counted, after) = near[range.end..]
        .split_once(['.', '!', '。', '！', '।', '\n'])
        .unwrap_or((&near[range.end..], ""));
    let words = counted
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let adjacent = words.take(MAX_COUNTED_WORDS + 1).count() <= MAX_COUNTED_WORDS
        && !after.contains(char::is_alphanumeric);
    if !adjacent || is_same(&other.text, &found.text) {
        return None;
    }
    let start = crate::slices::byte_range(text, other.source).start;
    Some(RuleMatch {
        text: Cow::Owned([&*other.text, Joiner::Or.as_str(), &*found.text].concat()),
        source: &text[start..value.end],
        rule: Rule::Stated,
    })
}

/// Whether the words up to a value are only the name of an answer and a verb.
fn is_bare(statement: &str) -> bool {
    const MAX_WORDS: usize = 3;
    let words = statement
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.take(MAX_WORDS + 1).count() <= MAX_WORDS
}

/// Marks of layout between two statements.
fn is_layout(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '#' | '_' | '-')
}

/// The word that ends a text.
fn last_word(text: &str) -> Option<&str> {
    let word = text.rsplit(|c: char| !c.is_alphabetic()).next()?;
    (!word.is_empty()).then_some(word)
}

/// Whether a text is a number without units or operations, or one letter.
fn is_plain(text: &str) -> bool {
    let letter = text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_uppercase());
    letter || number(text).is_some()
}

fn number(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|byte| b"0123456789.,-".contains(&byte));
    digits.then(|| text.replace(',', "").parse().ok()).flatten()
}

fn is_same(a: &str, b: &str) -> bool {
    a == b || number(a).is_some_and(|a| number(b) == Some(a))
}
