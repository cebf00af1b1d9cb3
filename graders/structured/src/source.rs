//! Text to parse, with the position of each byte in the completion: reasoning is removed from
//! it, and so is indentation.

use std::borrow::Cow;
use std::ops::Range;

use assay_extraction::reasoning;

/// A text made of pieces of a completion.
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

    /// A part of it.
    pub(crate) fn slice(&self, range: Range<usize>) -> Source<'_> {
        let first = self
            .pieces
            .partition_point(|(start, _)| *start <= range.start)
            .saturating_sub(1);
        let inside = self.pieces[first.min(self.pieces.len())..]
            .iter()
            .take_while(|(start, _)| *start < range.end.max(1));
        let moved = |(start, place): &(usize, usize)| {
            (
                start.saturating_sub(range.start),
                place + range.start.saturating_sub(*start),
            )
        };
        Source {
            pieces: inside.map(moved).collect(),
            text: Cow::Borrowed(&self.text[range]),
        }
    }

    /// A part of it without blanks at its ends.
    pub(crate) fn trimmed(&self, range: Range<usize>) -> Source<'_> {
        let text = &self.text[range.clone()];
        let start = range.start + text.len() - text.trim_start().len();
        self.slice(start..(start + text.trim().len()))
    }

    /// A part of it without blank lines at its ends; other lines are unchanged because their
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

    /// A part of it, with up to `indent` blanks removed at the start of each line.
    pub(crate) fn without_indent(&self, range: Range<usize>, indent: usize) -> Source<'_> {
        if indent == 0 {
            return self.slice(range);
        }
        let (mut text, mut pieces, mut at) = (String::new(), Vec::new(), range.start);
        for line in self.text[range].split_inclusive('\n') {
            let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
            let left_out = blank.min(indent);
            for (start, place) in self.slice(at + left_out..at + line.len()).pieces {
                pieces.push((text.len() + start, place));
            }
            text.push_str(&line[left_out..]);
            at += line.len();
        }
        Source {
            text: Cow::Owned(text),
            pieces,
        }
    }

    /// Position of a byte in the completion; the end of the text is after its last byte.
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
            .map_or(byte, |(start, place)| place + (byte - start))
    }

    /// Its span in the completion.
    pub(crate) fn span(&self) -> Range<usize> {
        self.at(0)..self.at(self.text.len())
    }
}

/// Line and column of a byte, both from 1, the column in characters.
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
    fn strips_and_counts_indentation() {
        let completion = "- x\n  a: 1\n\n    b: 2\n  c";
        let source = Source::visible(completion, false);
        let block = source.without_indent(4..completion.len(), 2);
        assert_eq!(block.text(), "a: 1\n\n  b: 2\nc");
        for (at, c) in block.text().char_indices() {
            assert_eq!(completion[block.at(at)..].chars().next(), Some(c));
        }
        assert_eq!(block.span(), 6..completion.len());
    }

    #[test]
    fn preserves_lines() {
        for (text, kept) in [
            ("\n \n  a\n  b \n \n", "  a\n  b "),
            ("a\r\nb\r\n", "a\r\nb"),
            (" a", " a"),
            ("\n\n", ""),
            ("", ""),
        ] {
            let source = Source::visible(text, false);
            assert_eq!(
                source.lines(0..source.text().len()).text(),
                kept,
                "{text:?}"
            );
        }
    }

    #[test]
    fn reports_lines_and_columns_as_editors_do() {
        assert_eq!(line_and_column("a\né b", 5), (2, 3));
        assert_eq!(line_and_column("", 0), (1, 1));
    }
}
