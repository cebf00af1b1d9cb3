//! Text to parse, with the position of each byte in the completion. Reasoning and indentation are
//! removed from the text.

use std::borrow::Cow;
use std::ops::Range;

use assay_extraction::fences::{self, Margin};
use assay_extraction::reasoning;

/// A text that consists of pieces of a completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    text: Cow<'a, str>,
    /// The start of each piece in the text and in the completion, in order; the first is the start
    /// of the text.
    pieces: Vec<(usize, usize)>,
}

impl<'a> Source<'a> {
    /// The completion without reasoning.
    pub(crate) fn visible(completion: &'a str, think_open: bool) -> Self {
        let parts = reasoning::visible(completion, think_open);
        let (mut pieces, mut length) = (Vec::with_capacity(parts.len()), 0);
        for part in &parts {
            pieces.push((length, part.start));
            length += part.len();
        }
        let text = match parts.as_slice() {
            [] => Cow::Borrowed(""),
            [part] => Cow::Borrowed(&completion[part.clone()]),
            parts => Cow::Owned(parts.iter().map(|part| &completion[part.clone()]).collect()),
        };
        Self { text, pieces }
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A part of the text.
    pub(crate) fn slice(&self, range: Range<usize>) -> Source<'_> {
        let first = self
            .pieces
            .partition_point(|(start, _)| *start <= range.start)
            .saturating_sub(1);
        let inside = self.pieces[first.min(self.pieces.len())..]
            .iter()
            .take_while(|(start, _)| *start < range.end.max(range.start + 1));
        let shifted = |(start, position): &(usize, usize)| {
            (
                start.saturating_sub(range.start),
                position + range.start.saturating_sub(*start),
            )
        };
        Source {
            pieces: inside.map(shifted).collect(),
            text: Cow::Borrowed(&self.text[range]),
        }
    }

    /// A part of the text without white space at its ends.
    pub(crate) fn trimmed(&self, range: Range<usize>) -> Source<'_> {
        let text = &self.text[range.clone()];
        let start = range.start + text.len() - text.trim_start().len();
        self.slice(start..(start + text.trim().len()))
    }

    /// A part of the text without blank lines at its ends. Other lines are unchanged, because their
    /// indentation may matter.
    pub(crate) fn lines(&self, range: Range<usize>) -> Source<'_> {
        let text = &self.text[range.clone()];
        let first = text.len() - text.trim_start().len();
        let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
        let last = text.trim_end().len().max(first);
        let end = text[last..]
            .find(['\r', '\n'])
            .map_or(text.len(), |at| last + at);
        if first == text.len() {
            self.slice(range.start..range.start)
        } else {
            self.slice(range.start + start..range.start + end)
        }
    }

    /// A part of the text without blank lines at its start.
    pub(crate) fn whole_lines(&self, range: Range<usize>) -> Source<'_> {
        let text = &self.text[range.clone()];
        let first = text.len() - text.trim_start().len();
        let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
        self.slice(range.start + start..range.end)
    }

    /// A part of the text, without the margin of its lines.
    pub(crate) fn without_margin(&self, range: Range<usize>, margin: Margin) -> Source<'_> {
        let (mut text, mut pieces) = (String::new(), Vec::new());
        for line in fences::lines(&self.text, range, margin) {
            for (start, position) in self.slice(line.clone()).pieces {
                pieces.push((text.len() + start, position));
            }
            text.push_str(&self.text[line]);
        }
        Source {
            text: Cow::Owned(text),
            pieces,
        }
    }

    /// The position in the completion of a byte of the text, or of the end of the text.
    pub(crate) fn at(&self, byte: usize) -> usize {
        let last = if byte == self.text.len() {
            byte.saturating_sub(1)
        } else {
            byte
        };
        let piece = self
            .pieces
            .partition_point(|(start, _)| *start <= last)
            .checked_sub(1);
        piece
            .and_then(|piece| self.pieces.get(piece))
            .map_or(byte, |(start, position)| position + (byte - start))
    }

    /// The byte range of the text in the completion.
    pub(crate) fn span(&self) -> Range<usize> {
        self.at(0)..self.at(self.text.len())
    }
}

/// Line and column of a byte, counted from 1. Columns are characters.
pub(crate) fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(byte)];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (
        1 + before.matches('\n').count(),
        1 + before[start..].chars().count(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_every_byte_to_its_position() {
        let completion = "ab<think>x</think>cdé<think>y</think>f";
        let source = Source::visible(completion, false);
        assert_eq!(source.text(), "abcdéf");
        for (at, c) in source.text().char_indices() {
            assert_eq!(completion[source.at(at)..].chars().next(), Some(c));
        }
        let part = source.slice(1..6);
        assert_eq!((part.text(), part.span()), ("bcdé", 1..22));
        assert_eq!(source.at(source.text().len()), completion.len());
        assert_eq!(Source::visible("<think>", false).span(), 0..0);
    }

    #[test]
    fn a_part_has_only_its_own_pieces() {
        let completion = "ab<think>x</think>cd";
        let source = Source::visible(completion, false);
        assert_eq!(source.slice(0..2), Source::visible("ab", false));
        assert_eq!(source.slice(0..0).span(), 0..0);
        assert_eq!(source.slice(2..2).span(), 18..18);
    }

    #[test]
    fn removes_margins_and_maps_positions() {
        let completion = "> - ```\n>   a: 1\n>\n>     b: 2\n>   c";
        let source = Source::visible(completion, false);
        let fenced = fences::blocks(completion, &fences::fences(completion)).remove(0);
        let block = source.without_margin(fenced.inside, fenced.margin);
        assert_eq!(block.text(), "a: 1\n\n  b: 2\nc");
        for (at, c) in block.text().char_indices() {
            assert_eq!(completion[block.at(at)..].chars().next(), Some(c));
        }
        assert_eq!(block.span(), 12..completion.len());
    }

    #[test]
    fn removes_blank_lines_at_the_ends() {
        for (text, expected) in [
            ("\n \n  a\n  b \n \n", "  a\n  b "),
            ("a\r\nb\r\n", "a\r\nb"),
            (" a", " a"),
            ("\n\n", ""),
            ("", ""),
        ] {
            let source = Source::visible(text, false);
            assert_eq!(
                source.lines(0..source.text().len()).text(),
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn counts_lines_and_columns_from_one() {
        assert_eq!(line_and_column("a\né b", 5), (2, 3));
        assert_eq!(line_and_column("", 0), (1, 1));
    }
}
