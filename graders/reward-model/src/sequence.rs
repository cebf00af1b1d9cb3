//! What a model reads: token ids, and the rows its head looks at.

/// Rows of a sequence that its head reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// The rows at these positions, in order.
    At(Vec<u32>),
    /// The mean of all.
    Mean,
}

/// One input as token ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Token ids, at least one.
    pub ids: Vec<u32>,
    /// First position of the second text of a pair; the length where there is none. Encoders tell
    /// the two apart.
    pub second: usize,
    /// What the head reads.
    pub rows: Rows,
    /// Tokens cut off.
    pub cut: u32,
}

impl Sequence {
    /// A sequence whose last row is read.
    #[must_use]
    pub fn whole(ids: Vec<u32>) -> Self {
        let last = u32::try_from(ids.len().saturating_sub(1)).unwrap_or(u32::MAX);
        Self {
            second: ids.len(),
            rows: Rows::At(vec![last]),
            ids,
            cut: 0,
        }
    }

    /// Its tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether it has none, which no model reads.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
