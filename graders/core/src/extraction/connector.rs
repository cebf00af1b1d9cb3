//! What connects the name of an answer with its value: "answer: 5", "answer to the question is 5",
//! a heading above it. Reads no value.

use super::characters::{is_mark, is_spaced};
use super::words::roles;

/// Most words between an answer's name and its verb.
const MOST_BETWEEN: usize = 14;

/// How a name was connected with what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Colon,
    Verb,
    Heading,
}

/// What follows the connector after a name, with blank space and emphasis cut; `None` where the
/// name is not connected.
///
/// `direct` allows a value right after the name.
pub(super) fn after_connector(after: &str, opens_line: bool, direct: bool) -> Option<(&str, How)> {
    let named = after.trim_start_matches(['*', '_', '`', ' ', '\u{a0}', ')', ']']);
    let rest = after_parenthesis(named);
    if direct && rest.len() < named.len() && rest.trim_end_matches('.').trim().is_empty() {
        return Some((named, How::Heading));
    }
    if let Some(value) = rest.strip_prefix([':', '：', '=']) {
        return Some((value_start(value), How::Colon));
    }
    if opens_line && (rest.starts_with('\n') || rest.starts_with("\r\n")) {
        return Some((value_start(rest), How::Heading));
    }
    // Sentences end before a verb does: only a short stretch of this sentence may stand between.
    let mut at = 0;
    for word_index in 0..MOST_BETWEEN {
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
                return Some((value_start(after_word), How::Verb));
            }
            if length == 0 {
                return None;
            }
            if word_index == 0 && !roles(word).between() {
                // Languages that put the verb last state the value right after the name.
                let value = word.starts_with(|c: char| c.is_ascii_digit() || c == '$' || c == '\\');
                return (direct && value).then(|| (value_start(rest), How::Heading));
            }
            if let Some(value) = after_word.strip_prefix([':', '：']) {
                return Some((value_start(value), How::Colon));
            }
            at += blank + length;
        } else {
            let verb = ideographic_verb(tail)?;
            return Some((value_start(&tail[verb..]), How::Verb));
        }
    }
    None
}

/// Length of a verb at the start of text without blanks, with what may stand before it: "应该是".
fn ideographic_verb(tail: &str) -> Option<usize> {
    const LONGEST: usize = 6;
    let mut found = None;
    let ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
    for end in ends.skip(1).take(LONGEST) {
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

fn prefix_between(word: &str) -> Option<&str> {
    word.char_indices()
        .skip(1)
        .map(|(at, _)| word.split_at(at))
        .find(|(head, _)| roles(head).between())
        .map(|(_, tail)| tail)
}

/// Skips "(in cm)" after a name.
fn after_parenthesis(rest: &str) -> &str {
    const LONGEST: usize = 40;
    let close = match rest.chars().next() {
        Some('(') => ')',
        Some('（') => '）',
        _ => return rest,
    };
    rest.char_indices()
        .take(LONGEST)
        .take_while(|(_, c)| *c != '\n')
        .find(|(_, c)| *c == close)
        .map_or(rest, |(at, _)| {
            rest[at + close.len_utf8()..].trim_start_matches([' ', '*'])
        })
}

fn value_start(value: &str) -> &str {
    let mut rest = value;
    loop {
        let before = rest.len();
        rest = rest.trim_start();
        // Emphasis and headings, but never the star or sign of an expression.
        rest = rest.strip_prefix("**").unwrap_or(rest);
        rest = rest.strip_prefix("__").unwrap_or(rest);
        rest = rest.trim_start_matches([':', '：', '#', '>']);
        if rest.len() == before {
            return rest;
        }
    }
}
