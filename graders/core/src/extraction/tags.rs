//! Answers marked by their format: `<answer>…</answer>` and GSM8K's `#### …`.

use std::borrow::Cow;

use super::series::{self, Member};
use super::tokens::{Kind, Line};
use super::trim::tidy;
use super::{CLOSING, Found, Options, Rule, choice, closing, last, opening, quantity, stated};

/// The last `<answer>…</answer>` that holds something, or the list of tags it ends.
pub(super) fn last<'a>(text: &'a str, options: &Options<'_>) -> Option<Found<'a>> {
    let mut tags: Vec<(usize, usize, &str)> = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut at = 0;
    while let Some(step) = text[at..].find('<') {
        at += step;
        let rest = &text[at..];
        if !matches!(rest.as_bytes().get(1), Some(b'a' | b'A' | b'/')) {
            at += 1;
        } else if let Some(length) = tag(rest, "<answer") {
            open = Some((at, at + length));
            at += length;
        } else if let Some(length) = tag(rest, "</answer") {
            if let Some((start, inner)) = open.take() {
                tags.push((start, at + length, &text[inner..at]));
            }
            at += length;
        } else {
            at += 1;
        }
    }
    let mut members = Vec::new();
    let mut sources = Vec::new();
    for (start, end, inner) in tags.into_iter().rev() {
        let source = tidy(inner);
        if !source.is_empty() {
            sources.push(source);
            members.push(Member {
                start,
                end,
                text: Cow::Borrowed(source),
            });
        }
        if members.len() == series::MOST_MEMBERS {
            break;
        }
    }
    members.reverse();
    sources.reverse();
    let series = series::last(text, &members)?;
    let last = members.len() - 1;
    if series.distinct > 1 {
        return Some(Found {
            source: &text[members[series.first].start..members[last].end],
            text: series.text,
            rule: Rule::AnswerTag,
        });
    }
    Some(content(sources[last], options))
}

/// Length of a tag that starts with `name`, in any case, with blank space before its end.
fn tag(rest: &str, name: &str) -> Option<usize> {
    let head = rest.as_bytes().get(..name.len())?;
    if !head.eq_ignore_ascii_case(name.as_bytes()) {
        return None;
    }
    let after = &rest[name.len()..];
    let blank = after.len() - after.trim_start_matches(' ').len();
    after[blank..]
        .starts_with('>')
        .then_some(name.len() + blank + 1)
}

/// What a tag holds, as one answer: a sentence inside it is read as the completion would be.
fn content<'a>(source: &'a str, options: &Options<'_>) -> Found<'a> {
    /// Most words of prose an answer has before it is read as a sentence.
    const MOST_WORDS: usize = 4;
    if options.choices
        && let Some(letter) = choice::in_clause(source)
        && words(source, MOST_WORDS) > 0
    {
        return Found {
            rule: Rule::AnswerTag,
            ..letter
        };
    }
    let sentence = words(source, MOST_WORDS) > MOST_WORDS;
    // Of a tag that holds a whole essay its end is read, as of a text.
    let ending = closing(source, CLOSING);
    stated::inside(ending, Rule::AnswerTag, options)
        .or_else(|| {
            let found = sentence.then(|| last::conclusion(ending)).flatten()?;
            Some(Found {
                rule: Rule::AnswerTag,
                ..found
            })
        })
        .unwrap_or_else(|| Found {
            text: quantity::upright(source),
            source,
            rule: Rule::AnswerTag,
        })
}

/// How much of an answer is read to tell a value from prose, in bytes.
const OPENING: usize = 4096;

/// Words of prose at the start of `text`; counting stops past `enough`.
fn words(text: &str, enough: usize) -> usize {
    Line::read(opening(text, OPENING))
        .tokens
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .take(enough + 1)
        .count()
}

/// Most headings after an answer that are passed over on the way back to it.
const MOST_HEADINGS: usize = 1024;

/// The last `#### …` that is an answer and no heading.
pub(super) fn hashes<'a>(text: &'a str, options: &Options<'_>) -> Option<Found<'a>> {
    let mut next = text.len();
    for _ in 0..MOST_HEADINGS {
        let at = text[..next].rfind("####")?;
        let before = &text[..at];
        let start = before.trim_end_matches('#').len();
        // A line ends with the next mark too, so that no byte is read for two of them.
        let value = &text[at + 4..next];
        let line_end = value.find('\n').unwrap_or(value.len());
        let line = &value[..line_end];
        let rest = &text[at + 4 + line_end..];
        next = start;
        if before.len() > start || line.starts_with('#') {
            continue;
        }
        let source = tidy(line);
        if is_answer(source, rest.trim_start().is_empty()) {
            return Some(
                stated::inside(closing(source, CLOSING), Rule::Hashes, options).unwrap_or_else(
                    || Found {
                        text: quantity::upright(source),
                        source,
                        rule: Rule::Hashes,
                    },
                ),
            );
        }
    }
    None
}

/// Whether a line after `####` is an answer: it starts like a value, or is one or two words that
/// end the text.
fn is_answer(source: &str, ends_text: bool) -> bool {
    if source.is_empty() {
        return false;
    }
    let line = Line::read(opening(source, OPENING));
    let words = line
        .tokens
        .iter()
        .filter(|token| matches!(token.kind, Kind::Word))
        .count();
    let value = super::runs::starts_value(&line, 0);
    value && (words <= 4 || ends_text) || ends_text && words <= 2
}
