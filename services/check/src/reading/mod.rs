//! What rules read in the texts of rows: calculations, damaged characters, LaTeX, languages.

pub(crate) mod arithmetic;
pub(crate) mod damage;
pub(crate) mod language;
pub(crate) mod latex;

use regex::Regex;

/// Whether a text contains a phrase as whole words. Both are in lower case.
pub(crate) fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

/// An expression that finds the first of these phrases as whole words in a text in lower case.
pub(crate) fn any_phrase(phrases: &[&str]) -> Regex {
    let edge = |c: Option<char>| {
        let is_word = c.is_some_and(char::is_alphanumeric);
        if is_word { "\\b" } else { "" }
    };
    let phrase = |phrase: &&str| {
        let (first, last) = (phrase.chars().next(), phrase.chars().next_back());
        format!("{}{}{}", edge(first), regex::escape(phrase), edge(last))
    };
    let phrases: Vec<String> = phrases.iter().map(phrase).collect();
    #[expect(clippy::expect_used, reason = "the phrases are constant and escaped")]
    Regex::new(&phrases.join("|")).expect("escaped phrases are an expression")
}
