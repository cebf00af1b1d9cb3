//! Changes to a text.

use std::ops::Range;

/// Replacements of disjoint ranges of a text.
#[derive(Debug, Default)]
pub(crate) struct Edits(Vec<(Range<usize>, Replacement)>);

#[derive(Debug)]
enum Replacement {
    /// Spaces, except that line breaks remain. The first character becomes the given one.
    Blank(Option<char>),
    Text(String),
}

impl Edits {
    /// Replaces a range with spaces.
    pub(crate) fn erase(&mut self, range: Range<usize>) {
        self.0.push((range, Replacement::Blank(None)));
    }

    /// Replaces a statement with an empty one, so that the statements around it remain separate.
    pub(crate) fn erase_statement(&mut self, range: Range<usize>) {
        self.0.push((range, Replacement::Blank(Some(';'))));
    }

    /// Replaces a range with a text.
    pub(crate) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.0.push((range, Replacement::Text(text.into())));
    }

    /// Inserts a text.
    pub(crate) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    /// The text with all edits. A range inside another one is ignored.
    pub(crate) fn apply(self, text: &str) -> String {
        self.apply_within(text, 0..text.len())
    }

    /// A part of the text with the edits inside it.
    pub(crate) fn apply_within(mut self, text: &str, part: Range<usize>) -> String {
        // Insertions come before a replacement at the same place, in the order of their creation.
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut result = String::with_capacity(part.len());
        let mut at = part.start;
        for (range, replacement) in self.0 {
            if range.start < at || range.end > part.end {
                continue;
            }
            result.push_str(text.get(at..range.start).unwrap_or_default());
            match replacement {
                Replacement::Text(text) => result.push_str(&text),
                Replacement::Blank(first) => {
                    let erased = text.get(range.clone()).unwrap_or_default();
                    for (index, character) in erased.chars().enumerate() {
                        result.push(match (character, first) {
                            (_, Some(first)) if index == 0 => first,
                            ('\n' | '\r' | '\u{2028}' | '\u{2029}', _) => character,
                            _ => ' ',
                        });
                    }
                }
            }
            at = range.end;
        }
        result.push_str(text.get(at..part.end).unwrap_or_default());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_disjoint_and_keep_lines() {
        let mut edits = Edits::default();
        edits.erase(1..4);
        edits.erase(2..3);
        edits.replace(5..6, "XY");
        edits.insert(5, "+");
        edits.erase_statement(6..8);
        assert_eq!(edits.apply("ab\ncdefgh"), "a \n d+XY; h");
    }
}
