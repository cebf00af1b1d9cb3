//! Texts of requests in messages and JSON pointers.

/// Truncates client input that is quoted in a reply to at most `max_bytes` bytes, at a character
/// boundary, and appends an ellipsis.
pub(crate) fn truncated(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push('…');
    }
    text
}

/// A key as a segment of a JSON pointer (RFC 6901, section 3).
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
