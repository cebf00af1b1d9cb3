//! Rotary position embeddings of a batch.

use assay_weights::Weights;
use assay_weights::config::Rope;
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::rotary_emb::rope_thd;

use super::packed::Packed;

/// Angle per token of each pair of dimensions, in radians.
pub(crate) struct Rotary {
    frequencies: Vec<f32>,
    dtype: DType,
}

/// Cosines and sines for the tokens of a batch, `[tokens, head_dim / 2]`.
pub(crate) struct Rotations {
    cos: Tensor,
    sin: Tensor,
}

impl Rotary {
    pub(crate) fn new(rope: &Rope, head_dim: usize, weights: &Weights) -> Self {
        Self {
            frequencies: rope.frequencies(head_dim),
            dtype: weights.dtype(),
        }
    }

    /// Computes the rotations of a batch, up to its longest sequence. They are not stored because a
    /// table of all positions would be larger than some models.
    pub(crate) fn rotations(&self, packed: &Packed) -> Result<Rotations> {
        let longest = packed
            .sequences
            .iter()
            .map(|sequence| sequence.len)
            .max()
            .unwrap_or_default();
        // Other implementations compute positions in f32.
        let angles: Vec<f32> = (0..longest)
            .flat_map(|position| {
                self.frequencies
                    .iter()
                    .map(move |frequency| position as f32 * frequency)
            })
            .collect();
        let angles = Tensor::from_vec(angles, (longest, self.frequencies.len()), &Device::Cpu)?;
        let device = packed.positions.device();
        let for_tokens = |table: Tensor| {
            table
                .to_dtype(self.dtype)?
                .to_device(device)?
                .index_select(&packed.positions, 0)
        };
        Ok(Rotations {
            cos: for_tokens(angles.cos()?)?,
            sin: for_tokens(angles.sin()?)?,
        })
    }
}

impl Rotations {
    /// Rotates `[tokens, heads, head_dim]`.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        rope_thd(&x.unsqueeze(0)?, &self.cos, &self.sin)?.squeeze(0)
    }
}
