//! Answer extraction: reduces a completion to the one span that is its answer. Does not judge the
//! answer. The text is returned as written, without delimiters, emphasis and closing punctuation.
//!
//! Struck-out text, reasoning ([`reasoning`]) and a question that the model invents after its
//! answer are removed first. Then the first rule that matches decides:
//!
//! 1. the last `\boxed{…}`, or the series of boxes that ends in it ([`Rule::Boxed`],
//!    [`Rule::BoxedList`]);
//! 2. the last `<answer>…</answer>` ([`Rule::AnswerTag`]);
//! 3. the last `#### …` that is not a heading ([`Rule::Hashes`]);
//! 4. the last statement such as "the answer is …", in the languages of the phrase table
//!    ([`Rule::Stated`]);
//! 5. for multiple choice, the last letter that the text selects ([`Rule::Choice`]);
//! 6. a text that consists of one expression ([`Rule::Whole`]);
//! 7. bold text, then display maths, in the last paragraph ([`Rule::Bold`], [`Rule::DisplayMath`]);
//! 8. the last expression or number of the text that is not part of a word
//!    ([`Rule::LastExpression`], [`Rule::LastNumber`]).
//!
//! The order follows how explicit a rule is. A box or a statement that the text denies ("I do not
//! think the answer is 42", "42 is wrong") or takes back ("Wait, that's wrong") is not an answer;
//! `commitment` has the order of precedence.
//!
//! The extracted text keeps whatever changes the meaning of a value, so that no grader can mistake
//! it for the bare value:
//! - alternatives stay together: "5 or 6";
//! - a bound, a range or a part of a sum keeps its words: "less than 7";
//! - a sign in words becomes a sign: "minus 7" is `-7`;
//! - a letter after a number in prose is a unit: "46 g" is `46\text{ g}`;
//! - a negated or hypothetical value is not extracted.
//!
//! Every scanner reads its input a bounded number of times.
//!
//! Boxes, tags and `####` are searched in the whole visible text. Rules 4 to 8 analyse words, which
//! costs more, and read only the last 64 KiB. A text that continues for longer after an answer does
//! not conclude with it.

mod asides;
mod boxed;
mod characters;
pub mod choice;
mod commitment;
mod conclusion;
mod connector;
mod display;
mod emphasis;
pub mod fences;
mod languages;
mod main_clause;
mod maths_spans;
mod phrases;
#[cfg(test)]
mod properties;
mod qualifiers;
mod quantity;
pub mod reasoning;
mod rule;
pub mod scales;
mod series;
mod slices;
mod statement;
mod struck;
mod tags;
mod tokens;
mod trim;
mod value_runs;
mod word_roles;
mod yes_no;

use std::borrow::Cow;
use std::ops::Range;

use rule::RuleMatch;
use slices::{TAIL_BYTES, byte_range, tail};

pub use rule::{Mode, Options, Rule};

/// An answer and its position in the completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted<'a> {
    /// The answer without delimiters, emphasis and closing punctuation. Never empty. Alternatives
    /// are joined by `, `, ` or ` or ` and `.
    pub text: Cow<'a, str>,
    /// Byte range of the completion that the answer was read from. It is on character boundaries
    /// and outside reasoning.
    pub span: Range<usize>,
    /// Which rule found it.
    pub rule: Rule,
}

/// Extracts the answer of a completion; `None` if no rule matches.
///
/// # Example
/// ```
/// use assay_extraction::{Options, Rule, extract};
///
/// let text = "<think>maybe 41</think> So the answer is $6 \\cdot 7$.";
/// let found = extract(text, &Options::default()).unwrap();
/// assert_eq!((&*found.text, found.rule), ("6 \\cdot 7", Rule::Stated));
/// assert_eq!(&text[found.span], "6 \\cdot 7");
/// ```
#[must_use]
pub fn extract<'a>(text: &'a str, options: &Options<'_>) -> Option<Extracted<'a>> {
    let whole = options.mode == Mode::Whole;
    match (!whole).then(|| struck::blanked(text)).flatten() {
        Some(blanked) => read(&blanked, options).map(|found| Extracted {
            text: Cow::Owned(found.text.into_owned()),
            ..found
        }),
        None => read(text, options),
    }
}

/// [`extract`] for a text without struck-out parts.
fn read<'a>(text: &'a str, options: &Options<'_>) -> Option<Extracted<'a>> {
    let parts: Vec<&str> = reasoning::visible(text, options.think_open)
        .into_iter()
        .map(|range| &text[range])
        .collect();
    let found = match options.mode {
        Mode::Auto => auto(&parts, options),
        Mode::Unboxed => without_boxes(&parts, options),
        Mode::Boxed => last_match(&parts, |part| boxed::read(part).last),
        Mode::Whole => last_match(&parts, |part| {
            Some(RuleMatch::slice(part.trim(), Rule::Whole))
        }),
    }?;
    if found.text.is_empty() {
        return None;
    }
    Some(Extracted {
        span: byte_range(text, found.source),
        text: found.text,
        rule: found.rule,
    })
}

fn auto<'a>(parts: &[&'a str], options: &Options<'_>) -> Option<RuleMatch<'a>> {
    let parts: Vec<&str> = parts
        .iter()
        .map(|part| tags::before_next_question(part, options))
        .collect();
    let mut unboxed = Vec::with_capacity(parts.len());
    for part in parts.iter().rev() {
        let boxes = boxed::read(part);
        if let Some(found) = boxes.correction.or(boxes.last) {
            return Some(if options.yes_no {
                yes_no::without_reason(found)
            } else {
                found
            });
        }
        unboxed.extend(boxes.unboxed.into_iter().rev());
        if boxes.retracts {
            break;
        }
    }
    unboxed.reverse();
    without_boxes(&unboxed, options)
}

/// The answer by the rules for texts without boxes.
fn without_boxes<'a>(parts: &[&'a str], options: &Options<'_>) -> Option<RuleMatch<'a>> {
    last_match(parts, |part| tags::last(part, options))
        .or_else(|| last_match(parts, |part| tags::hashes(part, options)))
        .or_else(|| unmarked(&without_retracted(&tail_parts(parts)), options))
}

/// The answer of a text without a box, tag or `####`.
fn unmarked<'a>(parts: &[&'a str], options: &Options<'_>) -> Option<RuleMatch<'a>> {
    // A statement precedes a letter: in "The answer is 42. (B) is close." the statement is
    // explicit.
    last_match(parts, |part| statement::last(part, options))
        .or_else(|| {
            let answers = options.yes_no.then_some(());
            answers.and_then(|()| last_match(parts, yes_no::last))
        })
        .or_else(|| {
            let letters = options.choices.then_some(());
            letters.and_then(|()| last_match(parts, choice::in_prose))
        })
        .or_else(|| last_match(parts, conclusion::find))
}

/// The parts, without the text that a later sentence retracts.
fn without_retracted<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let mut retained = Vec::new();
    for part in parts.iter().rev() {
        let rest = commitment::after_retraction(part);
        retained.push(rest);
        if rest.len() < part.len() {
            // The retraction also covers all earlier parts.
            break;
        }
    }
    retained.reverse();
    retained
}

/// The parts that make up the last [`TAIL_BYTES`] bytes, in order.
fn tail_parts<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let mut left = TAIL_BYTES;
    let mut retained = Vec::new();
    for part in parts.iter().rev() {
        let end = tail(part, left);
        left -= end.len();
        retained.push(end);
        if end.len() < part.len() {
            break;
        }
    }
    retained.reverse();
    retained
}

/// Applies `rule` to each visible part, the last one first, and returns the first match.
fn last_match<'a>(
    parts: &[&'a str],
    rule: impl Fn(&'a str) -> Option<RuleMatch<'a>>,
) -> Option<RuleMatch<'a>> {
    parts.iter().rev().find_map(|part| rule(part))
}
