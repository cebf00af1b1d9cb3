//! Input of a model: token ids and the rows that its head reads.

/// Rows of a sequence that the head reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// The rows at these positions, in ascending order.
    At(Vec<u32>),
    /// The mean of all rows.
    Mean,
}

/// One input as token ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Token ids, at least one.
    pub ids: Vec<u32>,
    /// Start of the second text of a pair, or the length if there is only one text. Encoders derive
    /// token types from it.
    pub second: usize,
    /// Rows that the head reads.
    pub rows: Rows,
    /// Number of tokens removed by truncation.
    pub truncated_tokens: u32,
}

impl Sequence {
    /// Creates a sequence whose last row is read.
    #[must_use]
    pub fn whole(ids: Vec<u32>) -> Self {
        let last = u32::try_from(ids.len().saturating_sub(1)).unwrap_or(u32::MAX);
        Self {
            second: ids.len(),
            rows: Rows::At(vec![last]),
            ids,
            truncated_tokens: 0,
        }
    }

    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether the sequence has no tokens. Such a sequence is not valid input.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
