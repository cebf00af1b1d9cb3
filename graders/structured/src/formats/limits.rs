//! Limits of parsers, and parts of their errors.

/// Most bytes that YAML aliases or CSV column names may add to a document.
pub(super) const MAX_COPIED: usize = 32 << 20;

/// Most parts of a document; a part takes about sixty bytes of memory.
pub(super) const MAX_PARTS: usize = 4_000_000;

/// A name, truncated for a message.
pub(super) fn short(name: &str) -> String {
    name.chars().take(60).collect()
}

/// The byte offset of the character with this index.
pub(super) fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices()
        .nth(character)
        .map_or(text.len(), |(at, _)| at)
}
