//! The words of texts and the phrases of searches, as the tokenizer of FTS5 in SQLite reads them:
//! letters, digits and characters for private use, without case and, in Latin letters, without
//! diacritics.

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

use crate::text_query::TextTerm;

/// A word, with combining characters after its first one.
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\x{300}-\x{331}]*")
        .expect("the expression is valid")
});

/// Combining characters, which are left out.
const MARKS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{331}';

/// Longest word, in bytes; longer ones are cut. No search is that long, and PostgreSQL rejects
/// words of more than 2,046 bytes.
const MAX_BYTES: usize = 1_024;

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    WORD.find_iter(text).map(|word| fold(word.as_str()))
}

fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    let characters = word.chars().filter(|character| !MARKS.contains(character));
    for lower in characters.flat_map(char::to_lowercase) {
        if folded.len() >= MAX_BYTES {
            break;
        }
        match std::iter::once(lower).nfd().next() {
            Some(base) if base.is_ascii() => folded.push(base),
            // The mark of a capital letter that has two characters in lower case.
            _ if MARKS.contains(&lower) => {}
            _ => folded.push(lower),
        }
    }
    folded
}

/// Words that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextPhrase {
    pub(crate) words: Vec<String>,
    /// Whether the last word may continue.
    pub(crate) is_prefix: bool,
    /// Whether the phrase must not occur.
    pub(crate) is_excluded: bool,
}

impl TextPhrase {
    pub(crate) fn of_term(term: &TextTerm) -> Self {
        Self {
            words: words(&term.text).collect(),
            is_prefix: term.is_prefix,
            is_excluded: term.is_excluded,
        }
    }

    /// Whether a grade passes whose texts have these words.
    pub(crate) fn passes(&self, completion: &[String], prompt: &[String]) -> bool {
        (self.occurs(completion) || self.occurs(prompt)) != self.is_excluded
    }

    fn occurs(&self, text: &[String]) -> bool {
        let Some((last, before)) = self.words.split_last() else {
            return false;
        };
        text.windows(self.words.len()).any(|window| {
            let (ends, begins) = window
                .split_last()
                .expect("a window has as many words as the phrase");
            let ends = if self.is_prefix {
                ends.starts_with(last.as_str())
            } else {
                ends == last
            };
            ends && begins == before
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_no_case_punctuation_and_latin_diacritics() {
        for (text, expected) in [
            ("", &[][..]),
            (
                "The ANSWER is \\boxed{42}.",
                &["the", "answer", "is", "boxed", "42"],
            ),
            ("x-ray don't a_b", &["x", "ray", "don", "t", "a", "b"]),
            ("Élan E\u{301}lan ÉLAN", &["elan", "elan", "elan"]),
            ("İstanbul Straße", &["istanbul", "straße"]),
            // Other letters keep their diacritics.
            ("Ά й", &["ά", "й"]),
            ("日本語 ½ \u{e000}", &["日本語", "½", "\u{e000}"]),
            ("\u{301}a", &["a"]),
        ] {
            let found: Vec<String> = words(text).collect();
            assert_eq!(found, expected, "{text}");
        }
        let long = "ä".repeat(5_000);
        assert_eq!(words(&long).collect::<Vec<_>>(), ["a".repeat(MAX_BYTES)]);
    }

    #[test]
    fn phrases_occur_in_one_of_the_texts() {
        let text = |text: &str| words(text).collect::<Vec<_>>();
        let (completion, prompt) = (text("it is so"), text("what is it"));
        for (phrase, is_prefix, occurs) in [
            ("it is", false, true),
            ("is it", false, true),
            ("so what", false, false),
            ("is s", true, true),
            ("is s", false, false),
            ("it is so what", false, false),
            ("", false, false),
        ] {
            for is_excluded in [false, true] {
                let phrase = TextPhrase {
                    words: text(phrase),
                    is_prefix,
                    is_excluded,
                };
                let passes = phrase.passes(&completion, &prompt);
                assert_eq!(passes, occurs != is_excluded, "{phrase:?}");
            }
        }
    }
}
