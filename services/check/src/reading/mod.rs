//! What rules read in the texts of rows: calculations, damaged characters, LaTeX, languages.

pub(crate) mod arithmetic;
pub(crate) mod damage;
pub(crate) mod language;
pub(crate) mod latex;

/// Whether a text contains a phrase as whole words. Both are in lower case.
pub(crate) fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

/// The first of these phrases that a text contains as whole words.
pub(crate) fn first_phrase<'p>(text: &str, phrases: &[&'p str]) -> Option<&'p str> {
    let mut phrases = phrases.iter();
    phrases.find(|phrase| has_phrase(text, phrase)).copied()
}
