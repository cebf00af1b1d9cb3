//! Finds the parts of a rendered text that come from the prompt, by rendering it a second time with
//! marks around them.
//!
//! The marks are characters of Unicode's private-use planes. They are placed inside the leading and
//! trailing white space of each text, so that a template that trims or splits texts treats marked
//! texts the same. The text without marks is then compared with the text rendered without marks, so
//! neither a template that inspects characters nor a text that contains mark characters can cause a
//! wrong result.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::template::is_space;

const OPEN: u32 = 0xF_0000;
const CLOSE: u32 = 0x10_0000;
/// Maximum number of marked texts: a private-use plane without its two non-characters.
const MAX_MARKS: u32 = 0xFFFE;

/// Marks texts, or leaves them unchanged.
#[derive(Debug)]
pub(super) struct PromptMarks {
    next: Option<u32>,
}

impl PromptMarks {
    /// Leaves texts unchanged.
    pub(super) fn disabled() -> Self {
        Self { next: None }
    }

    /// Marks texts.
    pub(super) fn enabled() -> Self {
        Self { next: Some(0) }
    }

    /// Returns a text with its marks. White space, and texts after the first 65,534, are not
    /// marked.
    pub(super) fn mark<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let core = text.trim_matches(is_space);
        let Some(at) = self.next.filter(|at| *at < MAX_MARKS && !core.is_empty()) else {
            return Cow::Borrowed(text);
        };
        let (Some(open), Some(close)) = (char::from_u32(OPEN + at), char::from_u32(CLOSE + at))
        else {
            return Cow::Borrowed(text);
        };
        self.next = Some(at + 1);
        let before = text.len() - text.trim_start_matches(is_space).len();
        let (space, rest) = text.split_at(before);
        let after = &rest[core.len()..];
        Cow::Owned(
            [
                space,
                open.encode_utf8(&mut [0; 4]),
                core,
                close.encode_utf8(&mut [0; 4]),
                after,
            ]
            .concat(),
        )
    }
}

/// Byte ranges of the marked parts of `plain`, in order. `None` if `marked` is not `plain` with
/// marks.
pub(super) fn spans(marked: &str, plain: &str) -> Option<Vec<Range<usize>>> {
    let mut text = String::with_capacity(marked.len());
    let mut open = BTreeMap::new();
    let mut spans = Vec::new();
    for c in marked.chars() {
        match u32::from(c) {
            code @ CLOSE.. => {
                if let Some(start) = open.remove(&(code - CLOSE)) {
                    spans.push(start..text.len());
                }
            }
            code @ OPEN.. => {
                open.insert(code - OPEN, text.len());
            }
            _ => text.push(c),
        }
    }
    (text == plain).then_some(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_inside_outer_white_space_and_yield_spans() {
        let mut marks = PromptMarks::enabled();
        let (one, two) = (
            marks.mark(" a b\n").into_owned(),
            marks.mark("c").into_owned(),
        );
        assert_eq!(one.trim().len(), one.len() - 2);
        assert_eq!(
            spans(&format!("x{}{two}", one.trim()), "xa bc"),
            Some(vec![1..4, 4..5])
        );
        assert_eq!(PromptMarks::disabled().mark(" a"), " a");
        assert_eq!(PromptMarks::enabled().mark(" \n"), " \n");
    }

    #[test]
    fn changed_texts_and_texts_with_mark_characters_have_no_spans() {
        let marked = PromptMarks::enabled().mark("abc").into_owned();
        assert_eq!(spans(&marked, "ab"), None);
        let forged = "a\u{f0000}b\u{100000}";
        assert_eq!(spans(&PromptMarks::enabled().mark(forged), forged), None);
    }

    #[test]
    fn texts_that_lost_a_mark_have_no_span() {
        let marked = PromptMarks::enabled().mark("abc").into_owned();
        let half: String = marked.chars().skip(1).collect();
        assert_eq!(spans(&half, "abc"), Some(Vec::new()));
    }
}
