//! Matches the text between the name of an answer and its value: the colon of "answer: 5", the
//! words of "answer to the question is 5", the line break after a heading. Does not read the value.

use crate::characters::{is_mark, is_spaced};
use crate::word_roles::roles;

/// Maximum number of words between the name of an answer and its verb.
const MAX_WORDS_BETWEEN: usize = 14;

/// How the name of an answer is connected to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connector {
    /// "Answer: 5", "answer = 5".
    Colon,
    /// "the answer is 5".
    Verb,
    /// The value follows on the next line or directly: "### Answer", "उत्तर 67 है".
    Heading,
}

/// Returns what follows the connector after a name, without leading white space and emphasis;
/// `None` if the name is not connected to anything.
///
/// `opens_line` is set if the name starts its line, which makes it a heading. `direct` permits a
/// value right after the name.
pub(super) fn after_connector(
    after: &str,
    opens_line: bool,
    direct: bool,
) -> Option<(&str, Connector)> {
    let named = after.trim_start_matches(['*', '_', '`', ' ', '\u{a0}', ')', ']', '"']);
    let rest = after_parenthesis(named);
    // "Answer (5)": nothing follows the parenthesis, so it contains the value.
    if direct && rest.len() < named.len() && rest.trim_end_matches('.').trim().is_empty() {
        return Some((named, Connector::Heading));
    }
    // A colon is unambiguous and is tested before the words.
    if let Some(value) = rest.strip_prefix([':', '：', '=']) {
        return Some((value_start(value), Connector::Colon));
    }
    if opens_line && (rest.starts_with('\n') || rest.starts_with("\r\n")) {
        return Some((value_start(rest), Connector::Heading));
    }
    // Search the verb among the next words of this sentence. Any character that cannot be part of a
    // word, such as a full stop, ends the search.
    let mut at = 0;
    for word_index in 0..MAX_WORDS_BETWEEN {
        let tail = &rest[at..];
        let blank = tail.len() - tail.trim_start_matches([' ', '*', '_', ',', '，']).len();
        let tail = &tail[blank..];
        let first = tail.chars().next()?;
        if is_spaced(first) {
            let length = tail
                .find(|c: char| !(c.is_alphanumeric() || "'’$\\{}()-".contains(c) || is_mark(c)))
                .unwrap_or(tail.len());
            let word = &tail[..length];
            let after_word = &tail[length..];
            if roles(word).verb() {
                return Some((value_start(after_word), Connector::Verb));
            }
            // The sentence ends here.
            if length == 0 {
                return None;
            }
            if word_index == 0 && !roles(word).between() {
                // Languages that put the verb last state the value right after the name: "उत्तर 67
                // है". In other cases the first word must be one that connects: "the answer to …",
                // but not "the answer Bob gave".
                let value = word.starts_with(|c: char| c.is_ascii_digit() || c == '$' || c == '\\');
                return (direct && value).then(|| (value_start(rest), Connector::Heading));
            }
            if let Some(value) = after_word.strip_prefix([':', '：']) {
                return Some((value_start(value), Connector::Colon));
            }
            at += blank + length;
        } else {
            let verb = ideographic_verb(tail)?;
            return Some((value_start(&tail[verb..]), Connector::Verb));
        }
    }
    None
}

/// Length of the verb at the start of a text without blanks, with the words that may precede it:
/// "应该是".
fn ideographic_verb(tail: &str) -> Option<usize> {
    /// In characters.
    const MAX_LENGTH: usize = 6;
    let mut found = None;
    let ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
    for end in ends.skip(1).take(MAX_LENGTH) {
        let word = &tail[..end];
        if roles(word).verb() {
            found = Some(end);
        } else if let Some(rest) = prefix_between(word)
            && roles(rest).verb()
        {
            found = Some(end);
        }
    }
    found
}

/// The rest of `word` after a word that may precede a verb.
fn prefix_between(word: &str) -> Option<&str> {
    word.char_indices()
        .skip(1)
        .map(|(at, _)| word.split_at(at))
        .find(|(head, _)| roles(head).between())
        .map(|(_, tail)| tail)
}

/// Skips a short parenthesis after a name: "(in cm)".
fn after_parenthesis(rest: &str) -> &str {
    /// In characters.
    const MAX_LENGTH: usize = 40;
    let close = match rest.chars().next() {
        Some('(') => ')',
        Some('（') => '）',
        _ => return rest,
    };
    rest.char_indices()
        .take(MAX_LENGTH)
        .take_while(|(_, c)| *c != '\n')
        .find(|(_, c)| *c == close)
        .map_or(rest, |(at, _)| {
            rest[at + close.len_utf8()..].trim_start_matches([' ', '*'])
        })
}

/// Skips white space, emphasis and marks of headings before a value.
fn value_start(value: &str) -> &str {
    let mut rest = value;
    loop {
        let before = rest.len();
        rest = rest.trim_start();
        // A single star or a sign may belong to an expression and stays.
        rest = rest.strip_prefix("**").unwrap_or(rest);
        rest = rest.strip_prefix("__").unwrap_or(rest);
        rest = rest.trim_start_matches([':', '：', '#', '>']);
        if rest.len() == before {
            return rest;
        }
    }
}
