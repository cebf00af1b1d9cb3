//! Forward passes: from packed token ids to one hidden state per token.
//!
//! Sequences are concatenated without padding. No operation mixes them: each row of a product
//! depends only on its own inputs, and attention works on one sequence at a time, in tiles that
//! depend only on its length. A score is therefore bit-identical alone and in any batch.
//! `linear.rs` and `attention/` document how this is achieved.

mod activation;
pub(crate) mod attention;
pub(crate) mod bert;
pub(crate) mod decoder;
mod linear;
pub(crate) mod modernbert;
pub(crate) mod norm;
mod rotary;

use std::sync::Arc;

use assay_weights::config::BackboneConfig;
use assay_weights::{LoadError, Weights};
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

/// A backbone of any family.
pub(crate) enum Backbone {
    Decoder(decoder::Decoder),
    Bert(bert::Bert),
    ModernBert(modernbert::ModernBert),
}

impl Backbone {
    /// Reads the tensors whose names start with `prefix`, for example `model.`.
    pub(crate) fn read(
        config: &BackboneConfig,
        weights: &Weights,
        prefix: &str,
    ) -> std::result::Result<Self, LoadError> {
        Ok(match config {
            BackboneConfig::Decoder(config) => {
                Self::Decoder(decoder::Decoder::read(config, weights, prefix)?)
            }
            BackboneConfig::Bert(config) => Self::Bert(bert::Bert::read(config, weights, prefix)?),
            BackboneConfig::ModernBert(config) => {
                Self::ModernBert(modernbert::ModernBert::read(config, weights, prefix)?)
            }
        })
    }

    /// Computes the hidden states before the last norm, `[tokens, hidden]`.
    pub(crate) fn forward(&self, packed: &Packed) -> Result<Tensor> {
        match self {
            Self::Decoder(backbone) => backbone.forward(packed),
            Self::Bert(backbone) => backbone.forward(packed),
            Self::ModernBert(backbone) => backbone.forward(packed),
        }
    }

    /// Applies the last norm to one row in place.
    pub(crate) fn last_norm(&self, row: &mut [f32]) {
        match self {
            Self::Decoder(backbone) => backbone.last_norm.apply(row),
            Self::Bert(_) => {}
            Self::ModernBert(backbone) => backbone.last_norm.apply(row),
        }
    }
}
