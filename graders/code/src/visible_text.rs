//! A completion without its reasoning: maps bytes and lines of the visible text to the completion.

use std::borrow::Cow;
use std::ops::Range;

use assay_extraction::reasoning;

/// A completion without its reasoning.
pub(crate) struct VisibleText<'a> {
    completion: &'a str,
    parts: Vec<Range<usize>>,
    text: Cow<'a, str>,
}

impl<'a> VisibleText<'a> {
    /// The visible text of a completion. `think_open` means that it starts inside reasoning.
    pub(crate) fn of(completion: &'a str, think_open: bool) -> Self {
        let parts = reasoning::visible(completion, think_open);
        let text = match parts.as_slice() {
            [] => Cow::Borrowed(""),
            [part] => Cow::Borrowed(&completion[part.clone()]),
            parts => Cow::Owned(parts.iter().map(|part| &completion[part.clone()]).collect()),
        };
        Self {
            completion,
            parts,
            text,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Converts a byte range of the visible text to a byte range of the completion.
    pub(crate) fn span(&self, inside: &Range<usize>) -> Range<usize> {
        let start = self.start(inside.start);
        let end = self.offset(inside.end, |at, length| at <= length);
        start..end.max(start)
    }

    /// The line of the completion, from 1, that contains a byte of the visible text.
    pub(crate) fn line(&self, at: usize) -> usize {
        let before = &self.completion.as_bytes()[..self.start(at)];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// Maps lines of a program, counted from 1, to lines of the completion. `program` is its byte
    /// range in the visible text. Lines that the program does not have are left out.
    pub(crate) fn lines(&self, program: &Range<usize>, numbers: &[usize]) -> Vec<usize> {
        let inside = self.text.get(program.clone()).unwrap_or_default();
        let starts = std::iter::once(0).chain(inside.match_indices('\n').map(|(at, _)| at + 1));
        let starts: Vec<usize> = starts.filter(|start| *start < inside.len()).collect();
        let start = |number: &usize| starts.get(number.checked_sub(1)?).copied();
        numbers
            .iter()
            .filter_map(start)
            .map(|start| self.line(program.start + start))
            .collect()
    }

    fn start(&self, at: usize) -> usize {
        self.offset(at, |at, length| at < length)
    }

    /// Converts a byte offset of the visible text to one of the completion. `is_in(offset, length)`
    /// returns whether a part contains an offset.
    fn offset(&self, mut at: usize, is_in: impl Fn(usize, usize) -> bool) -> usize {
        for part in &self.parts {
            if is_in(at, part.len()) {
                return part.start + at;
            }
            at = at.saturating_sub(part.len());
        }
        self.parts.last().map_or(0, |part| part.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_spans_and_lines_to_the_completion() {
        let completion = "<think>a\nb</think>\nSo:\n```python\nx = 1\ny = 2\n```\n";
        let visible = VisibleText::of(completion, false);
        let start = visible.text().find("x = 1").unwrap();
        let program = start..start + "x = 1\ny = 2\n".len();
        assert_eq!(&completion[visible.span(&program)], "x = 1\ny = 2\n");
        assert_eq!(visible.line(program.start), 5);
        assert_eq!(visible.lines(&program, &[2, 1, 0, 3, usize::MAX]), [6, 5]);
    }

    #[test]
    fn reasoning_between_parts_is_counted() {
        let completion = "x = 1\n<think>\n\n</think>y = 2";
        let visible = VisibleText::of(completion, false);
        assert_eq!(visible.text(), "x = 1\ny = 2");
        let whole = 0..visible.text().len();
        assert_eq!(visible.lines(&whole, &[1, 2]), [1, 4]);
        assert_eq!(visible.span(&(0..6)), 0..6);
        assert_eq!(visible.span(&whole), 0..completion.len());
    }

    #[test]
    fn empty_visible_text_starts_at_line_one() {
        let visible = VisibleText::of("<think>never closed", false);
        assert_eq!(
            (visible.text(), visible.span(&(0..0)), visible.line(0)),
            ("", 0..0, 1)
        );
        assert!(visible.lines(&(0..0), &[1]).is_empty());
    }
}
