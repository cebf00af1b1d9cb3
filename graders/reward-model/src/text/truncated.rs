//! The texts of an input, and their tokens after truncation.

use super::tokenizer::Encoded;

/// Token ids, and the number of tokens removed by truncation.
#[derive(Debug)]
pub(super) struct Truncated {
    pub(super) encoded: Encoded,
    pub(super) removed: usize,
}

impl Truncated {
    pub(super) fn unchanged(encoded: Encoded) -> Self {
        Self {
            encoded,
            removed: 0,
        }
    }

    pub(super) fn new(tokens: usize, encoded: Encoded) -> Self {
        Self {
            removed: tokens.saturating_sub(encoded.ids.len()),
            encoded,
        }
    }
}

/// The second text of an input, and its relation to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecondText<'a> {
    /// There is no second text.
    None,
    /// A second text on a par with the first: the longer one is truncated.
    Equal(&'a str),
    /// The first text is a prompt, the second its completion.
    Completion(&'a str),
}
