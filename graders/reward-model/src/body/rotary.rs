//! Rotary positions of a batch: the turns of each position, looked up for each token.

use candle_core::{Device, Result, Tensor};
use candle_nn::rotary_emb::rope_thd;

use super::Packed;
use crate::config::rope::Rope;
use crate::weights::Weights;

/// Cosines and sines of every position, `[positions, head_dim / 2]`.
pub(crate) struct Rotary {
    cos: Tensor,
    sin: Tensor,
}

/// Cosines and sines of the tokens of a batch, `[tokens, head_dim / 2]`.
pub(crate) struct Turns {
    cos: Tensor,
    sin: Tensor,
}

impl Rotary {
    pub(crate) fn new(rope: &Rope, head_dim: usize, positions: usize, weights: &Weights) -> Result<Self> {
        let frequencies = rope.frequencies(head_dim);
        #[expect(clippy::cast_precision_loss, reason = "as peers compute it: positions in f32")]
        let angles: Vec<f32> =
            (0..positions).flat_map(|position| frequencies.iter().map(move |turn| position as f32 * turn)).collect();
        let angles = Tensor::from_vec(angles, (positions, head_dim / 2), &Device::Cpu)?;
        let place = |table: Tensor| table.to_dtype(weights.dtype())?.to_device(weights.device());
        Ok(Self { cos: place(angles.cos()?)?, sin: place(angles.sin()?)? })
    }

    pub(crate) fn turns(&self, packed: &Packed) -> Result<Turns> {
        Ok(Turns {
            cos: self.cos.index_select(&packed.positions, 0)?,
            sin: self.sin.index_select(&packed.positions, 0)?,
        })
    }
}

impl Turns {
    /// Turns `[tokens, heads, head_dim]`.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        rope_thd(&x.unsqueeze(0)?, &self.cos, &self.sin)?.squeeze(0)
    }
}
