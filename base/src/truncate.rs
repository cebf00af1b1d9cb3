//! Truncates long texts for messages and evidence.

/// The first characters of a text, at most `most`.
#[must_use]
pub fn truncated(text: &str, most: usize) -> &str {
    text.char_indices()
        .nth(most)
        .map_or(text, |(end, _)| &text[..end])
}

/// The text if it has at most `max_bytes` bytes, otherwise its first characters within them and an
/// ellipsis.
#[must_use]
pub fn with_ellipsis(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_at_characters() {
        assert_eq!(truncated("héé", 2), "hé");
        assert_eq!(truncated("hé", 2), "hé");
        assert_eq!(truncated("hé", 0), "");
        assert_eq!(with_ellipsis("hé".to_owned(), 3), "hé");
        assert_eq!(with_ellipsis("héé".to_owned(), 4), "hé…");
    }
}
