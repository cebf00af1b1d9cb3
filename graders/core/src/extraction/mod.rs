//! Answer extraction: from a completion to the one span that is its answer. Judges nothing: whether
//! the answer is right is the grader's affair, and text is handed over as written, cleaned only of
//! what surrounds it.
//!
//! Reasoning is cut first ([`reasoning`]). Then the first rule that finds something decides:
//!
//! 1. the last `\boxed{…}`, or the series of boxes that ends in it ([`Rule::Boxed`],
//!    [`Rule::BoxedList`]);
//! 2. the last `<answer>…</answer>` ([`Rule::AnswerTag`]);
//! 3. the last `#### …` that is not a heading ([`Rule::Hashes`]);
//! 4. the last statement such as "the answer is …", in the languages of the phrase table
//!    ([`Rule::Stated`]);
//! 5. where the task is multiple choice, the last letter the text settles on ([`Rule::Choice`]);
//! 6. a text that is nothing but an expression ([`Rule::Whole`]);
//! 7. bold text, then display maths, in the last paragraph ([`Rule::Bold`], [`Rule::DisplayMath`]);
//! 8. the last stand-alone expression or number ([`Rule::LastExpression`], [`Rule::LastNumber`]).
//!
//! A box decides even where a later sentence says something else. What marks no answer is taken
//! back by a sentence that says so ("Wait, that's wrong"), and then what stands after it is read.
//! An answer that offers alternatives keeps all of them in its text ("5 or 6"), so that no grader
//! can mistake it for one of them; so does a value in prose that its words make a bound, a range or
//! part of a sum ("less than 7"). A sign in words becomes a sign ("minus 7" is `-7`), a denied or
//! only supposed value is none, and a letter after a number in prose is its unit ("46 g" is
//! `46\text{ g}`). Every scanner reads its input a bounded number of times.
//!
//! Boxes, tags and `####` are looked for in the whole text. Rules 4 to 8 read words, which costs
//! more, and read no more than the last 64 KiB of what is visible: who writes more than that after
//! an answer has not concluded with it.

mod boxed;
mod characters;
pub mod choice;
mod clause;
mod connector;
mod display;
mod emphasis;
pub mod fences;
mod languages;
mod last;
mod maths_spans;
mod phrases;
mod qualify;
mod quantity;
pub mod reasoning;
mod retraction;
mod runs;
mod series;
mod stated;
mod tags;
mod tokens;
mod trim;
mod words;

#[cfg(test)]
mod laws;

use std::borrow::Cow;
use std::ops::Range;

/// How much of the end of a text may hold an answer that nothing marks, in bytes.
const CLOSING: usize = 1 << 16;

/// Which places of a completion may hold the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// All rules, first that fires.
    #[default]
    Auto,
    /// Boxes only.
    Boxed,
    /// The text after the last reasoning block, all of it.
    Whole,
}

/// What the extraction may know about the task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Which places count.
    pub mode: Mode,
    /// The completion starts inside reasoning, because the prompt ended with `<think>`.
    pub think_open: bool,
    /// The task is multiple choice: letters in prose count.
    pub choices: bool,
    /// Language of the completion (`fr` or `french`), where known. Turns on phrases that are too
    /// short to be safe elsewhere.
    pub language: Option<&'a str>,
}

/// Which rule found the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The last box.
    Boxed,
    /// Several boxes of one sentence.
    BoxedList,
    /// `<answer>…</answer>`.
    AnswerTag,
    /// `#### …`.
    Hashes,
    /// "The answer is …".
    Stated,
    /// A letter in the prose of a multiple-choice answer.
    Choice,
    /// Bold text in the last paragraph.
    Bold,
    /// Display maths in the last paragraph.
    DisplayMath,
    /// The last expression of the text.
    LastExpression,
    /// The last number of the text.
    LastNumber,
    /// The text as a whole.
    Whole,
}

impl Rule {
    /// Stable name, as evidence shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boxed => "boxed",
            Self::BoxedList => "boxed_list",
            Self::AnswerTag => "answer_tag",
            Self::Hashes => "hashes",
            Self::Stated => "stated",
            Self::Choice => "choice",
            Self::Bold => "bold",
            Self::DisplayMath => "display_math",
            Self::LastExpression => "last_expression",
            Self::LastNumber => "last_number",
            Self::Whole => "whole",
        }
    }
}

/// An answer and where it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted<'a> {
    /// The answer, without delimiters, emphasis and closing punctuation. Never empty. Alternatives
    /// are joined by `, `, ` or ` or ` and `.
    pub text: Cow<'a, str>,
    /// Bytes of the completion it was read from; on character boundaries and outside reasoning.
    pub span: Range<usize>,
    /// Which rule found it.
    pub rule: Rule,
}

/// A finding of one rule, before its place in the completion is known.
struct Found<'a> {
    text: Cow<'a, str>,
    source: &'a str,
    rule: Rule,
}

impl<'a> Found<'a> {
    /// A slice of the completion that is the answer as it stands.
    fn slice(source: &'a str, rule: Rule) -> Self {
        Self {
            text: Cow::Borrowed(source),
            source,
            rule,
        }
    }
}

/// Reduces a completion to one answer; `None` where no rule finds one.
///
/// # Example
/// ```
/// use assay_core::extraction::{Options, Rule, extract};
///
/// let text = "<think>maybe 41</think> So the answer is $6 \\cdot 7$.";
/// let found = extract(text, &Options::default()).unwrap();
/// assert_eq!((&*found.text, found.rule), ("6 \\cdot 7", Rule::Stated));
/// assert_eq!(&text[found.span], "6 \\cdot 7");
/// ```
#[must_use]
pub fn extract<'a>(text: &'a str, options: &Options<'_>) -> Option<Extracted<'a>> {
    let parts: Vec<&str> = reasoning::visible(text, options.think_open)
        .into_iter()
        .map(|range| &text[range])
        .collect();
    let found = match options.mode {
        Mode::Auto => auto(&parts, options),
        Mode::Boxed => last_of(&parts, |part| boxed::read(part).last),
        Mode::Whole => last_of(&parts, |part| Some(Found::slice(part.trim(), Rule::Whole))),
    }?;
    if found.text.is_empty() {
        return None;
    }
    Some(Extracted {
        span: place(text, found.source),
        text: found.text,
        rule: found.rule,
    })
}

fn auto<'a>(parts: &[&'a str], options: &Options<'_>) -> Option<Found<'a>> {
    let mut unboxed = Vec::with_capacity(parts.len());
    for part in parts.iter().rev() {
        let boxes = boxed::read(part);
        if boxes.last.is_some() {
            return boxes.last;
        }
        unboxed.push(boxes.before_unclosed);
    }
    unboxed.reverse();
    let parts = unboxed.as_slice();
    last_of(parts, |part| tags::last(part, options))
        .or_else(|| last_of(parts, |part| tags::hashes(part, options)))
        .or_else(|| unmarked(&standing(&closing_parts(parts)), options))
}

/// The answer of a text that marks none, by what its words say.
fn unmarked<'a>(parts: &[&'a str], options: &Options<'_>) -> Option<Found<'a>> {
    last_of(parts, |part| stated::last(part, options))
        .or_else(|| {
            let letters = options.choices.then_some(());
            letters.and_then(|()| last_of(parts, choice::in_prose))
        })
        .or_else(|| last_of(parts, last::conclusion))
}

/// What of the parts a later sentence does not take back.
fn standing<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    for part in parts.iter().rev() {
        let standing = retraction::standing(part);
        kept.push(standing);
        if standing.len() < part.len() {
            break;
        }
    }
    kept.reverse();
    kept
}

/// The parts that make up the last [`CLOSING`] bytes, in their order.
fn closing_parts<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let mut left = CLOSING;
    let mut kept = Vec::new();
    for part in parts.iter().rev() {
        let end = closing(part, left);
        left -= end.len();
        kept.push(end);
        if end.len() < part.len() {
            break;
        }
    }
    kept.reverse();
    kept
}

/// The last `most` bytes of `text`, cut at blank space: a number of which only the end is read
/// would be another number. Nothing where no blank space stands there, for no answer is that long.
fn closing(text: &str, most: usize) -> &str {
    let Some(start) = text.len().checked_sub(most).filter(|start| *start > 0) else {
        return text;
    };
    let end = &text[text.ceil_char_boundary(start)..];
    end.find(char::is_whitespace)
        .map_or("", |blank| &end[blank..])
}

/// The first `most` bytes of `text`, cut at a character.
fn opening(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Asks each visible part, the last one first.
fn last_of<'a>(
    parts: &[&'a str],
    rule: impl Fn(&'a str) -> Option<Found<'a>>,
) -> Option<Found<'a>> {
    parts.iter().rev().find_map(|part| rule(part))
}

/// Where a slice of `text` stands in it. Rules pass slices on, so no rule can get an offset wrong.
fn place(text: &str, slice: &str) -> Range<usize> {
    let start = slice.as_ptr().addr() - text.as_ptr().addr();
    start..start + slice.len()
}
