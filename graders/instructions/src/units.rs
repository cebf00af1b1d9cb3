//! The units in which texts are counted, and how a text is divided into them.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use unicode_segmentation::UnicodeSegmentation;

use crate::sentences;

/// What a text is divided into. `docs/graders/instructions.md` defines each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Characters,
    Words,
    Terms,
    Chunks,
    Sentences,
    Lines,
    Paragraphs,
    /// Parts between lines or marks of three asterisks.
    Sections,
    /// Parts between marks of six asterisks.
    Responses,
}

impl Unit {
    /// Number of units, for tables.
    pub(crate) const COUNT: usize = 9;

    /// The name in tasks and evidence.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Characters => "characters",
            Self::Words => "words",
            Self::Terms => "terms",
            Self::Chunks => "chunks",
            Self::Sentences => "sentences",
            Self::Lines => "lines",
            Self::Paragraphs => "paragraphs",
            Self::Sections => "sections",
            Self::Responses => "responses",
        }
    }
}

/// A unit of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece<'t> {
    /// Its text. Terms have no punctuation.
    pub(crate) text: Cow<'t, str>,
    /// Byte range in the text that was divided.
    pub(crate) at: Range<usize>,
}

impl<'t> Piece<'t> {
    fn slice(text: &'t str, at: Range<usize>) -> Self {
        Self {
            text: Cow::Borrowed(&text[at.clone()]),
            at,
        }
    }
}

/// Divides a text.
pub(crate) fn divide(text: &str, unit: Unit) -> Vec<Piece<'_>> {
    match unit {
        Unit::Characters => text
            .grapheme_indices(true)
            .filter(|(_, cluster)| !cluster.trim().is_empty())
            .map(|(at, cluster)| Piece::slice(text, at..at + cluster.len()))
            .collect(),
        Unit::Words => words(text),
        Unit::Terms => chunks(text).filter_map(|at| term(text, at)).collect(),
        Unit::Chunks => chunks(text).map(|at| Piece::slice(text, at)).collect(),
        Unit::Sentences => sentences::split(text)
            .into_iter()
            .map(|at| Piece::slice(text, at))
            .collect(),
        Unit::Lines => lines(text),
        Unit::Paragraphs => paragraphs(text),
        Unit::Sections => parts(text, &["***", "* * *"]),
        Unit::Responses => parts(text, &["******"]),
    }
}

/// Whether sections or responses have an empty part that is not the first or the last one.
pub(crate) fn has_empty_part(text: &str, unit: Unit) -> bool {
    let separator = match unit {
        Unit::Sections => "***",
        Unit::Responses => "******",
        _ => return false,
    };
    let parts: Vec<&str> = text.split(separator).collect();
    let inner = parts.len().saturating_sub(2);
    parts
        .iter()
        .skip(1)
        .take(inner)
        .any(|part| part.trim().is_empty())
}

/// Runs of letters, marks, digits and underscores. In scripts without spaces, a character of Han or
/// Hiragana is a word, and a cluster of Thai, Lao, Khmer and Burmese.
fn words(text: &str) -> Vec<Piece<'_>> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, character) in text.char_indices() {
        if !is_word(character) {
            push_run(text, start.take(), at, &mut words);
        } else if start.is_none() {
            start = Some(at);
        }
    }
    push_run(text, start, text.len(), &mut words);
    words
}

fn push_run<'t>(text: &'t str, start: Option<usize>, end: usize, words: &mut Vec<Piece<'t>>) {
    let Some(start) = start else { return };
    let run = &text[start..end];
    if run.is_ascii() || !run.chars().any(is_unspaced) {
        words.push(Piece::slice(text, start..end));
        return;
    }
    for (at, word) in run.unicode_word_indices() {
        words.push(Piece::slice(text, start + at..start + at + word.len()));
    }
}

/// Whether a character is part of a word.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || is_mark(character)
}

/// Combining marks, which belong to the letter before them.
fn is_mark(character: char) -> bool {
    !character.is_ascii() && unicode_normalization::char::is_combining_mark(character)
}

/// Scripts that are written without spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// Runs without white space.
fn chunks(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_whitespace().map(move |chunk| {
        let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
        start..start + chunk.len()
    })
}

/// A chunk without punctuation; `None` if nothing is left.
fn term(text: &str, at: Range<usize>) -> Option<Piece<'_>> {
    let chunk = &text[at.clone()];
    let text = if chunk.chars().any(is_punctuation) {
        let kept: String = chunk.chars().filter(|c| !is_punctuation(*c)).collect();
        Cow::Owned(kept)
    } else {
        Cow::Borrowed(chunk)
    };
    (!text.is_empty()).then_some(Piece { text, at })
}

/// Punctuation and symbols of ASCII, and the marks of other scripts that are common in texts.
pub(crate) fn is_punctuation(character: char) -> bool {
    character.is_ascii_punctuation()
        || "…“”‘’„‚«»‹›–—―¡¿。，、！？：；「」『』（）【】《》〈〉・·।॥،؛؟".contains(character)
}

/// The non-blank parts between separators, without white space around them.
fn parts<'t>(text: &'t str, separators: &[&str]) -> Vec<Piece<'t>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at <= text.len() {
        let rest = &text[at..];
        let found = separators
            .iter()
            .filter_map(|separator| Some((rest.find(separator)?, separator.len())))
            .min_by_key(|(offset, _)| *offset);
        let (end, next) = match found {
            Some((offset, length)) => (at + offset, at + offset + length),
            None => (text.len(), text.len() + 1),
        };
        pieces.extend(trimmed(text, start..end));
        start = next;
        at = next;
    }
    pieces
}

/// The lines that are not blank, with their indentation.
fn lines(text: &str) -> Vec<Piece<'_>> {
    let mut at = 0;
    let mut pieces = Vec::new();
    for line in text.split_inclusive('\n') {
        let end = line.trim_end();
        if !end.is_empty() {
            pieces.push(Piece::slice(text, at..at + end.len()));
        }
        at += line.len();
    }
    pieces
}

/// The parts between blank lines.
fn paragraphs(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            pieces.extend(trimmed(text, start..at));
            start = at + line.len();
        }
        at += line.len();
    }
    pieces.extend(trimmed(text, start..at));
    pieces
}

fn trimmed(text: &str, at: Range<usize>) -> Option<Piece<'_>> {
    let part = &text[at.clone()];
    let start = at.start + (part.len() - part.trim_start().len());
    let end = start + part.trim().len();
    (start < end).then(|| Piece::slice(text, start..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, unit: Unit) -> Vec<String> {
        divide(text, unit)
            .into_iter()
            .map(|piece| piece.text.into_owned())
            .collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_marks() {
        assert_eq!(
            texts("It's 3.5, _ok_", Unit::Words),
            ["It", "s", "3", "5", "_ok_"]
        );
        // Vowel signs belong to the word.
        assert_eq!(texts("हिन्दी भाषा", Unit::Words), ["हिन्दी", "भाषा"]);
        assert_eq!(texts("我爱 Rust", Unit::Words), ["我", "爱", "Rust"]);
    }

    #[test]
    fn terms_lose_their_punctuation() {
        assert_eq!(
            texts("Don't - \"well-known\" (x).", Unit::Terms),
            ["Dont", "wellknown", "x"]
        );
        assert_eq!(texts("a, b", Unit::Chunks), ["a,", "b"]);
    }

    #[test]
    fn paragraphs_lines_sections_and_responses() {
        assert_eq!(texts("a\nb\n \n\nc\n", Unit::Paragraphs), ["a\nb", "c"]);
        assert_eq!(texts("a \n\n  b", Unit::Lines), ["a", "  b"]);
        assert_eq!(texts("a\n***\nb * * * c", Unit::Sections), ["a", "b", "c"]);
        assert_eq!(texts("******a******b", Unit::Responses), ["a", "b"]);
        assert!(has_empty_part("a******\n******b", Unit::Responses));
        assert!(!has_empty_part("******a******b******", Unit::Responses));
    }
}
