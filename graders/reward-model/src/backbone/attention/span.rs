//! The tokens that a token attends to.

/// Tokens of its sequence that a token attends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AttentionSpan {
    /// The token and those before it: at most this number in total, or all of them.
    Causal(Option<usize>),
    /// All tokens, or those within this distance on either side.
    Bidirectional(Option<usize>),
}

impl AttentionSpan {
    /// Union of the ranges that the tokens `first..end` attend to, in a sequence of `len` tokens.
    pub(crate) fn range_of_rows(
        self,
        first: usize,
        end: usize,
        len: usize,
    ) -> std::ops::Range<usize> {
        self.range(first, len).start..self.range(end.max(1) - 1, len).end
    }

    /// Range of tokens that the token at `at` attends to, in a sequence of `len` tokens.
    pub(crate) fn range(self, at: usize, len: usize) -> std::ops::Range<usize> {
        match self {
            Self::Causal(window) => {
                window.map_or(0, |window| (at + 1).saturating_sub(window))..at + 1
            }
            Self::Bidirectional(None) => 0..len,
            Self::Bidirectional(Some(half_window)) => {
                at.saturating_sub(half_window)..len.min(at + half_window + 1)
            }
        }
    }
}
