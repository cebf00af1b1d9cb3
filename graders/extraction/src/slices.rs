//! Slices of a text and their positions in it.

use std::ops::Range;

/// Bytes at the end of a text that rules 4 to 8 read.
pub(super) const TAIL_BYTES: usize = 1 << 16;

/// At most the last `most` bytes of `text`, cut at white space, because the second half of a number
/// would be another number. Empty if they contain no white space: no answer is that long.
pub(super) fn tail(text: &str, most: usize) -> &str {
    let Some(start) = text.len().checked_sub(most).filter(|start| *start > 0) else {
        return text;
    };
    let end = &text[text.ceil_char_boundary(start)..];
    end.find(char::is_whitespace)
        .map_or("", |blank| &end[blank..])
}

/// At most the first `most` bytes of `text`, cut at a character boundary.
pub(super) fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The byte range of `slice`, which must be a slice of `text`. Rules return slices instead of
/// offsets, so no rule can compute a wrong offset.
pub(super) fn byte_range(text: &str, slice: &str) -> Range<usize> {
    let start = slice.as_ptr().addr() - text.as_ptr().addr();
    start..start + slice.len()
}
