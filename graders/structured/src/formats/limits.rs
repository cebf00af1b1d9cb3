//! Limits that parsers share, and functions for their error messages.

/// Maximum number of bytes that copies of YAML aliases or CSV column names add to a document.
pub(super) const MAX_COPIED_BYTES: usize = 32 << 20;

/// Maximum number of values in a document. A value takes about sixty bytes of memory.
pub(super) const MAX_VALUES: usize = 4_000_000;

/// Maximum length of a name in an error message, in characters.
pub(super) const MAX_QUOTED: usize = 60;

/// The byte offset of the character with this index.
pub(super) fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices()
        .nth(character)
        .map_or(text.len(), |(at, _)| at)
}
