//! Sequences of a batch, packed without padding.

use std::sync::Arc;

use candle_core::{Device, Result, Tensor};

use crate::Sequence;

/// Concatenated sequences.
pub(crate) struct Packed {
    /// Token ids, `u32`, of all sequences.
    pub(crate) ids: Tensor,
    /// Position of each token in its sequence, `u32`.
    pub(crate) positions: Tensor,
    /// Token type: the text of a pair that each token belongs to, 0 or 1, `u32`.
    pub(crate) types: Tensor,
    /// Start of each sequence, followed by the end of the last.
    pub(crate) starts: Arc<[usize]>,
}

impl Packed {
    pub(crate) fn new(sequences: &[&Sequence], device: &Device) -> Result<Self> {
        let total = sequences.iter().map(|sequence| sequence.len()).sum();
        let (mut ids, mut positions, mut types) = (
            Vec::with_capacity(total),
            Vec::with_capacity(total),
            Vec::with_capacity(total),
        );
        let mut starts = vec![0];
        for sequence in sequences {
            ids.extend_from_slice(&sequence.ids);
            positions.extend((0u32..).take(sequence.len()));
            types.extend((0..sequence.len()).map(|at| u32::from(at >= sequence.second)));
            starts.push(ids.len());
        }
        Ok(Self {
            ids: Tensor::from_vec(ids, total, device)?,
            positions: Tensor::from_vec(positions, total, device)?,
            types: Tensor::from_vec(types, total, device)?,
            starts: starts.into(),
        })
    }

    /// Total number of tokens.
    pub(crate) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }
}
