//! Attention with basic tensor operations, one sequence after the other. Used on a GPU, for which
//! there is no fused kernel.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use candle_core::{D, Result, Tensor};
use candle_nn::ops;

use super::Sight;

/// Like [`super::attention`], but returns `[tokens, heads, head_dim]`.
pub(super) fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    starts: &[usize],
    sight: Sight,
    scale: f32,
) -> Result<Tensor> {
    let (_, heads, head_dim) = q.dims3()?;
    let (_, kv_heads, _) = k.dims3()?;
    let group = heads / kv_heads;
    let mut parts = Vec::with_capacity(starts.len());
    let mut masks = BTreeMap::new();
    for sequence in starts.windows(2) {
        let (start, len) = (sequence[0], sequence[1] - sequence[0]);
        // Heads that share keys are rows of one product: `[kv_heads, group * len, head_dim]`.
        let of = |x: &Tensor| x.narrow(0, start, len)?.transpose(0, 1)?.contiguous();
        let q = of(q)?.reshape((kv_heads, group * len, head_dim))?;
        let mask = match masks.entry(len) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(place) => place.insert(mask(len, sight, q.device(), q.dtype())?),
        };
        let scores = (q.matmul(&of(k)?.transpose(1, 2)?)? * f64::from(scale))?;
        let scores = scores
            .reshape((kv_heads, group, len, len))?
            .broadcast_add(mask)?;
        let shares = ops::softmax(&scores, D::Minus1)?.reshape((kv_heads, group * len, len))?;
        let out = shares.matmul(&of(v)?)?.reshape((heads, len, head_dim))?;
        parts.push(out.transpose(0, 1)?.contiguous()?);
    }
    Tensor::cat(&parts, 0)
}

/// Additive attention mask, `[len, len]`: 0 where a token is attended to, negative infinity
/// elsewhere.
fn mask(
    len: usize,
    sight: Sight,
    device: &candle_core::Device,
    dtype: candle_core::DType,
) -> Result<Tensor> {
    let row = |at: usize| {
        let seen = sight.of(at, len);
        (0..len).map(move |other| {
            if seen.contains(&other) {
                0.0f32
            } else {
                f32::NEG_INFINITY
            }
        })
    };
    let mask: Vec<f32> = (0..len).flat_map(row).collect();
    Tensor::from_vec(mask, (len, len), device)?.to_dtype(dtype)
}
