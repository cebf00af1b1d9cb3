//! Input of a model: token ids and the rows that its head reads.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Tokens per tile of attention. Sequences share the work on their first tokens in whole tiles. The
/// attention scores of a tile over 2,000 tokens fit in the second-level cache of a CPU.
pub(crate) const TILE: usize = 128;

/// The tiles of a batch, by their hashes. Counts rows: tiles that sequences share count once.
#[derive(Debug, Default)]
pub(crate) struct BatchTiles(HashSet<u64>);

impl BatchTiles {
    /// Number of rows that a sequence of `tokens` tokens would add.
    pub(crate) fn added(&self, tokens: usize, tiles: &[u64]) -> usize {
        let shared = tiles.iter().take_while(|tile| self.0.contains(tile));
        tokens - shared.count() * TILE
    }

    /// Adds a sequence; returns the number of rows that it adds.
    pub(crate) fn add(&mut self, tokens: usize, tiles: &[u64]) -> usize {
        let added = self.added(tokens, tiles);
        self.0.extend(tiles);
        added
    }
}

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

    /// The tile of attention that starts at this token, if it is whole and part of the first text.
    pub(crate) fn tile(&self, first: usize) -> Option<&[u32]> {
        self.ids[..self.second].get(first..first + TILE)
    }

    /// A hash of each whole tile and those before it. Sequences can share the rows of the tiles
    /// whose hashes are equal.
    pub(crate) fn tile_hashes(&self) -> Vec<u64> {
        let mut hasher = DefaultHasher::new();
        let mut hashes = Vec::with_capacity(self.len() / TILE);
        while let Some(tile) = self.tile(hashes.len() * TILE) {
            tile.hash(&mut hasher);
            hashes.push(hasher.finish());
        }
        hashes
    }
}
