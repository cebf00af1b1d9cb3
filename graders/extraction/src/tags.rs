//! Answers marked by an explicit format: `<answer>…</answer>` and GSM8K's `#### …`.

use std::borrow::Cow;

use crate::rule::{Options, Rule, RuleMatch};
use crate::series::{self, Member};
use crate::slices::{TAIL_BYTES, head, tail};
use crate::tokens::{Lexed, TokenKind};
use crate::trim::tidy;
use crate::{choice, conclusion, quantity, statement};

/// The last non-empty `<answer>…</answer>`, or the list of adjacent tags that ends with it.
pub(super) fn last<'a>(text: &'a str, options: &Options<'_>) -> Option<RuleMatch<'a>> {
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
        if members.len() == series::MAX_MEMBERS {
            break;
        }
    }
    members.reverse();
    sources.reverse();
    let series = series::last(text, &members)?;
    let last = members.len() - 1;
    if series.distinct > 1 {
        return Some(RuleMatch {
            source: &text[members[series.first].start..members[last].end],
            text: series.text,
            rule: Rule::AnswerTag,
        });
    }
    Some(content(sources[last], options))
}

/// Length of the tag at the start of `rest` if its name is `name`, in any case. Blanks are allowed
/// before `>`.
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

/// The content of a tag as one answer. If the content is a sentence, it is read like a completion.
fn content<'a>(source: &'a str, options: &Options<'_>) -> RuleMatch<'a> {
    /// Content with more words than this is read as a sentence.
    const MAX_WORDS: usize = 4;
    // Multiple choice comes first: in "B because 5 is prime" the letter is the answer, not the 5.
    // Content without a word, such as "42", is left to the rules for values.
    if options.choices
        && let Some(letter) = choice::letter_of_clause(source)
        && words(source, MAX_WORDS) > 0
    {
        return RuleMatch {
            rule: Rule::AnswerTag,
            ..letter
        };
    }
    let sentence = words(source, MAX_WORDS) > MAX_WORDS;
    // A tag may contain a whole essay. As for a completion, only its end is read.
    let ending = tail(source, TAIL_BYTES);
    // A statement is the most specific reading ("The answer is 4."). The last value of prose is
    // read only if the content is long enough to be prose. Everything else is the answer as
    // written.
    statement::inside(ending, Rule::AnswerTag, options)
        .or_else(|| {
            let found = sentence.then(|| conclusion::find(ending)).flatten()?;
            Some(RuleMatch {
                rule: Rule::AnswerTag,
                ..found
            })
        })
        .unwrap_or_else(|| RuleMatch {
            text: quantity::upright(source),
            source,
            rule: Rule::AnswerTag,
        })
}

/// Bytes read from the start of an answer to distinguish a value from prose.
const HEAD_BYTES: usize = 4096;

/// Number of prose words at the start of `text`. Counting stops at `enough + 1`.
fn words(text: &str, enough: usize) -> usize {
    Lexed::read(head(text, HEAD_BYTES))
        .tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Word)
        .take(enough + 1)
        .count()
}

/// Maximum number of headings that are skipped while searching backwards for an answer. It bounds
/// the work for a text that consists of headings.
const MAX_HEADINGS: usize = 1024;

/// The last `#### …` that is an answer rather than a Markdown heading.
pub(super) fn hashes<'a>(text: &'a str, options: &Options<'_>) -> Option<RuleMatch<'a>> {
    let mut next = text.len();
    for _ in 0..MAX_HEADINGS {
        let at = text[..next].rfind("####")?;
        let before = &text[..at];
        let start = before.trim_end_matches('#').len();
        // The line also ends at the next `####`, so that no byte is read for two marks.
        let value = &text[at + 4..next];
        let line_end = value.find('\n').unwrap_or(value.len());
        let line = &value[..line_end];
        let rest = &text[at + 4 + line_end..];
        next = start;
        // Five or more hashes are not the GSM8K mark.
        if before.len() > start || line.starts_with('#') {
            continue;
        }
        let source = tidy(line);
        if is_answer(source, rest.trim_start().is_empty()) {
            return Some(
                statement::inside(tail(source, TAIL_BYTES), Rule::Hashes, options).unwrap_or_else(
                    || RuleMatch {
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

/// Headings of a question that a model invents after its answer.
const QUESTIONS: &[&str] = &[
    "question:",
    "q:",
    "problem:",
    "**question:**",
    "### question",
    "### instruction",
    "问题：",
];

/// The text up to the next question that a model invents after its answer: "#### 42\n\nQuestion:
/// …". What follows answers another question.
///
/// After `####` any heading of a question ends the text. After a box or a statement it must follow
/// the line of the answer, and be the first heading of its kind: a text that answers several
/// questions has one before its first answer.
pub(super) fn before_next_question<'a>(text: &'a str, options: &Options<'_>) -> &'a str {
    let mut offset = 0;
    let mut marked = false;
    let mut asked = false;
    let mut last_line = "";
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let mark = content
            .strip_prefix("####")
            .filter(|rest| !rest.starts_with('#'));
        marked |= mark.is_some_and(|rest| {
            rest.trim_start()
                .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '$' | '\\' | '('))
        });
        // The mark that ends a sequence of tokens.
        if marked && let Some(end) = line.find("</s>") {
            return &text[..offset + end];
        }
        if let Some(heading) = question(content) {
            let follows = !asked && heading.ends_with([':', '：']) && answers(last_line, options);
            if marked || follows {
                return &text[..offset];
            }
            asked = true;
        }
        if !content.is_empty() {
            last_line = content;
        }
        offset += line.len();
    }
    text
}

/// The heading of a question that a line starts with.
fn question(line: &str) -> Option<&'static str> {
    let starts = |heading: &&&str| {
        line.get(..heading.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(heading))
    };
    QUESTIONS.iter().find(starts).copied()
}

/// Whether a line has a box or states an answer.
fn answers(line: &str, options: &Options<'_>) -> bool {
    let line = tail(line, HEAD_BYTES);
    line.contains("\\boxed{") || statement::last(line, options).is_some()
}

/// Whether a line after `####` is an answer and not a heading. It is one if it starts like a value
/// ("#### 18 dollars"), or if it ends the text and has at most two words ("#### Monday"). "####
/// Step 1: add" and "#### Conclusion" followed by text are headings.
fn is_answer(source: &str, ends_text: bool) -> bool {
    if source.is_empty() {
        return false;
    }
    let lexed = Lexed::read(head(source, HEAD_BYTES));
    let words = lexed
        .tokens
        .iter()
        .filter(|token| matches!(token.kind, TokenKind::Word))
        .count();
    let value = super::value_runs::starts_value(&lexed, 0);
    value && (words <= 4 || ends_text) || ends_text && words <= 2
}
