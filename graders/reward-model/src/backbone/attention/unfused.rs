//! Attention with basic tensor operations, one sequence after the other. Used on a GPU, for which
//! there is no fused kernel.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use candle_core::{D, Result, Tensor};
use candle_nn::ops;

use super::AttentionSpan;

/// Like [`super::attention`], but returns `[tokens, heads, head_dim]`.
pub(super) fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    starts: &[usize],
    span: AttentionSpan,
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
        let heads_first = |x: &Tensor| x.narrow(0, start, len)?.transpose(0, 1)?.contiguous();
        let q = heads_first(q)?.reshape((kv_heads, group * len, head_dim))?;
        let mask = match masks.entry(len) {
            Entry::Occupied(cached) => cached.into_mut(),
            Entry::Vacant(slot) => slot.insert(mask(len, span, q.device(), q.dtype())?),
        };
        let scores = (q.matmul(&heads_first(k)?.transpose(1, 2)?)? * f64::from(scale))?;
        let scores = scores
            .reshape((kv_heads, group, len, len))?
            .broadcast_add(mask)?;
        let shares = ops::softmax(&scores, D::Minus1)?.reshape((kv_heads, group * len, len))?;
        let out = shares
            .matmul(&heads_first(v)?)?
            .reshape((heads, len, head_dim))?;
        parts.push(out.transpose(0, 1)?.contiguous()?);
    }
    Tensor::cat(&parts, 0)
}

/// Additive attention mask, `[len, len]`: 0 where a token is attended to, negative infinity
/// elsewhere.
fn mask(
    len: usize,
    span: AttentionSpan,
    device: &candle_core::Device,
    dtype: candle_core::DType,
) -> Result<Tensor> {
    let row = |at: usize| {
        let attended = span.range(at, len);
        (0..len).map(move |other| {
            if attended.contains(&other) {
                0.0f32
            } else {
                f32::NEG_INFINITY
            }
        })
    };
    let mask: Vec<f32> = (0..len).flat_map(row).collect();
    Tensor::from_vec(mask, (len, len), device)?.to_dtype(dtype)
}
