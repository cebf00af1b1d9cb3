//! The starts of texts, which findings show.

/// Maximum length of an excerpt of a completion or of evidence in a finding, in characters.
const EXCERPT_LENGTH: usize = 120;

/// The start of a text on one line, at most [`EXCERPT_LENGTH`] characters.
pub(crate) fn excerpt(text: &str) -> String {
    shorten(text, EXCERPT_LENGTH)
}

/// The start of a text on one line, at most `length` characters.
pub(crate) fn shorten(text: &str, length: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
