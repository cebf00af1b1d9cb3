//! Positions in the spool.

/// A position in the spool: the number of a segment and a byte offset in it. Positions sort in the
/// order of appending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) segment: u64,
    pub(crate) byte: u64,
}

impl Position {
    /// A position after every entry. Used for entries without a position in the spool, which no
    /// progress covers.
    pub(crate) const LAST: Self = Self {
        segment: u64::MAX,
        byte: u64::MAX,
    };
}
