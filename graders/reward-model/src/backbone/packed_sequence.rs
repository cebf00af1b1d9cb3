//! The rows of a sequence in a batch.

use std::ops::Range;

/// The rows of one sequence. Its first tokens may be rows of earlier sequences; its other tokens
/// are its own rows, which are contiguous.
pub(crate) struct PackedSequence {
    /// Rows of its tokens in order. Adjacent ranges are joined.
    pub(super) ranges: Vec<Range<usize>>,
    /// Number of first tokens whose rows belong to earlier sequences: a multiple of
    /// [`TILE`](crate::sequence::TILE).
    pub(crate) shared: usize,
    /// Number of tokens.
    pub(crate) len: usize,
    /// Its own rows.
    pub(crate) own: Range<usize>,
}

impl PackedSequence {
    /// Rows of the tokens in `tokens`, in order.
    pub(crate) fn rows(&self, tokens: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        self.ranges.iter().filter_map(move |range| {
            let first = start;
            start += range.len();
            let from = tokens.start.clamp(first, start) - first;
            let to = tokens.end.clamp(first, start) - first;
            (from < to).then_some(range.start + from..range.start + to)
        })
    }

    /// The row of one token.
    pub(crate) fn row(&self, at: usize) -> Option<usize> {
        self.rows(at..at + 1).next().map(|range| range.start)
    }
}
