//! Rotary positions of a batch: the turns of each position, looked up for each token.

use assay_weights::Weights;
use assay_weights::config::Rope;
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::rotary_emb::rope_thd;

use super::Packed;

/// How fast each pair of dimensions turns, in radians a token.
pub(crate) struct Rotary {
    frequencies: Vec<f32>,
    dtype: DType,
}

/// Cosines and sines of the tokens of a batch, `[tokens, head_dim / 2]`.
pub(crate) struct Turns {
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

    /// Made for each batch, up to its longest sequence: a table of all positions would be larger
    /// than some models.
    pub(crate) fn turns(&self, packed: &Packed) -> Result<Turns> {
        let longest = packed
            .starts
            .windows(2)
            .map(|sequence| sequence[1] - sequence[0])
            .max()
            .unwrap_or_default();
        #[expect(
            clippy::cast_precision_loss,
            reason = "as peers compute it: positions in f32"
        )]
        let angles: Vec<f32> = (0..longest)
            .flat_map(|position| {
                self.frequencies
                    .iter()
                    .map(move |turn| position as f32 * turn)
            })
            .collect();
        let angles = Tensor::from_vec(angles, (longest, self.frequencies.len()), &Device::Cpu)?;
        let device = packed.positions.device();
        let place = |table: Tensor| {
            table
                .to_dtype(self.dtype)?
                .to_device(device)?
                .index_select(&packed.positions, 0)
        };
        Ok(Turns {
            cos: place(angles.cos()?)?,
            sin: place(angles.sin()?)?,
        })
    }
}

impl Turns {
    /// Turns `[tokens, heads, head_dim]`.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        rope_thd(&x.unsqueeze(0)?, &self.cos, &self.sin)?.squeeze(0)
    }
}
