//! The rules that find answers, their options, and their matches.

use std::borrow::Cow;

/// Which parts of a completion may contain the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// All rules, in order; the first match decides.
    #[default]
    Auto,
    /// Boxes only.
    Boxed,
    /// All rules except the one for boxes.
    Unboxed,
    /// The whole text after the last reasoning block.
    Whole,
}

/// What is known about the task and the completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Where to look for the answer.
    pub mode: Mode,
    /// The completion starts inside reasoning because the prompt ended with `<think>`.
    pub think_open: bool,
    /// The task is multiple choice, so letters in prose may be answers.
    pub choices: bool,
    /// The question is answered by yes or no, so such a word before a reason is the answer.
    pub yes_no: bool,
    /// Language of the completion (`fr` or `french`), if known. Enables phrases that are too short
    /// to be safe in other languages.
    pub language: Option<&'a str>,
}

/// The rule that found the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The last box.
    Boxed,
    /// Several boxes that form a list.
    BoxedList,
    /// `<answer>…</answer>`.
    AnswerTag,
    /// `#### …`.
    Hashes,
    /// "The answer is …".
    Stated,
    /// A letter in prose, for multiple choice.
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
    /// The stable name, used in evidence.
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

/// The match of one rule, before its byte range in the completion is computed.
pub(super) struct RuleMatch<'a> {
    /// The answer.
    pub(super) text: Cow<'a, str>,
    /// The slice of the completion that it was read from.
    pub(super) source: &'a str,
    pub(super) rule: Rule,
}

impl<'a> RuleMatch<'a> {
    /// A match whose answer is a slice of the completion.
    pub(super) fn slice(source: &'a str, rule: Rule) -> Self {
        Self {
            text: Cow::Borrowed(source),
            source,
            rule,
        }
    }
}
