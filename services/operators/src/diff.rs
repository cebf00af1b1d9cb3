//! Differences between an expected and an actual text.

use similar::{ChangeTag, TextDiff};

use crate::display::SafeText;

/// Maximum length of a compared text, in characters. The cost is up to the product of both lengths.
const MAX_CHARACTERS: usize = 4_000;

/// A piece of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// Whether the piece is missing in the other text.
    pub(crate) differs: bool,
}

/// Both texts of a comparison, in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    pub(crate) expected: Vec<Piece>,
    pub(crate) got: Vec<Piece>,
}

impl Diff {
    /// Compares by words, or by characters if both texts are single words.
    pub(crate) fn new(expected: &str, got: &str) -> Self {
        let (expected, got) = (head(expected), head(got));
        let is_word = |text: &str| text.len() <= 64 && !text.trim().contains(char::is_whitespace);
        let diff = if is_word(expected) && is_word(got) {
            TextDiff::from_chars(expected, got)
        } else {
            TextDiff::from_words(expected, got)
        };
        let mut sides = Self {
            expected: Vec::new(),
            got: Vec::new(),
        };
        for change in diff.iter_all_changes() {
            match change.tag() {
                ChangeTag::Equal => {
                    push(&mut sides.expected, change.value(), false);
                    push(&mut sides.got, change.value(), false);
                }
                ChangeTag::Delete => push(&mut sides.expected, change.value(), true),
                ChangeTag::Insert => push(&mut sides.got, change.value(), true),
            }
        }
        sides
    }

    /// The same texts, of which no piece is marked as different.
    pub(crate) fn unmarked(self) -> Self {
        let plain = |pieces: Vec<Piece>| {
            let text: String = pieces.into_iter().map(|piece| piece.text).collect();
            let differs = false;
            let piece = (!text.is_empty()).then_some(Piece { text, differs });
            piece.into_iter().collect()
        };
        Self {
            expected: plain(self.expected),
            got: plain(self.got),
        }
    }
}

fn head(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_CHARACTERS)
        .map_or(text, |(end, _)| &text[..end])
}

fn push(side: &mut Vec<Piece>, text: &str, differs: bool) {
    match side.last_mut() {
        Some(last) if last.differs == differs => last.text.push_str(&SafeText(text).to_string()),
        _ => side.push(Piece {
            text: SafeText(text).to_string(),
            differs,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(pieces: &[Piece]) -> String {
        let mark = |piece: &Piece| {
            if piece.differs {
                format!("[{}]", piece.text)
            } else {
                piece.text.clone()
            }
        };
        pieces.iter().map(mark).collect()
    }

    #[test]
    fn compares_single_words_by_characters_and_texts_by_words() {
        let short = Diff::new("0.375", "0.35");
        assert_eq!(
            (
                marked(&short.expected).as_str(),
                marked(&short.got).as_str()
            ),
            ("0.3[7]5", "0.35")
        );
        let long = Diff::new("the cat sat down", "the dog sat");
        assert_eq!(marked(&long.expected), "the [cat] sat[ down]");
        assert_eq!(marked(&long.got), "the [dog] sat");
    }

    #[test]
    fn equal_texts_have_no_differences() {
        let same = Diff::new("a b", "a b");
        assert_eq!(same.expected, same.got);
        assert_eq!(
            Diff::new("", ""),
            Diff {
                expected: Vec::new(),
                got: Vec::new()
            }
        );
    }

    #[test]
    fn shows_invisible_characters_and_truncates_long_texts() {
        let diff = Diff::new("a", "a\u{0}");
        assert_eq!(marked(&diff.got), "a[⟨0000⟩]");
        let huge = Diff::new(&"x ".repeat(100_000), "x");
        assert!(marked(&huge.expected).len() < 3 * MAX_CHARACTERS);
    }
}
