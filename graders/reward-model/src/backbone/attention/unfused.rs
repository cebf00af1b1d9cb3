//! Attention with basic tensor operations, one tile after the other. Used on a GPU, for which there
//! is no fused kernel, and for 16-bit types.
//!
//! The shapes of all operations on a tile depend only on the tile and its sequence, so its results
//! are bit-identical in any batch.

use candle_core::{D, DType, Result, Tensor};
use candle_nn::ops;

use super::AttentionSpan;
use crate::backbone::packed::Packed;
use crate::backbone::packed_sequence::PackedSequence;
use crate::sequence::TILE;

/// Like [`super::attention`], but returns `[rows, heads, head_dim]`.
pub(super) fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    packed: &Packed,
    span: AttentionSpan,
    scale: f32,
) -> Result<Tensor> {
    let (_, heads, head_dim) = q.dims3()?;
    let (_, kv_heads, _) = k.dims3()?;
    let group = heads / kv_heads;
    let mut parts = Vec::with_capacity(packed.rows().div_ceil(TILE));
    for sequence in packed.sequences.iter() {
        let (keys, values) = (heads_first(k, sequence)?, heads_first(v, sequence)?);
        let keys = keys.transpose(1, 2)?;
        for from in (sequence.shared..sequence.len).step_by(TILE) {
            let tile = from..(from + TILE).min(sequence.len);
            let rows = tile.len();
            let attended = span.range_of_rows(tile.start, tile.end, sequence.len);
            let columns = attended.len();
            let first = sequence.own.start + from - sequence.shared;
            // Heads that share keys are rows of one product: `[kv_heads, group * rows, head_dim]`.
            let q = q
                .narrow(0, first, rows)?
                .transpose(0, 1)?
                .contiguous()?
                .reshape((kv_heads, group * rows, head_dim))?;
            let keys = keys.narrow(2, attended.start, columns)?;
            let scores = (q.matmul(&keys)?.to_dtype(DType::F32)? * f64::from(scale))?;
            let mask = packed
                .masks
                .of_tile(span, &tile, &attended, sequence.len, q.device())?;
            let scores = match mask {
                Some(mask) => scores
                    .reshape((kv_heads, group, rows, columns))?
                    .broadcast_add(&mask)?
                    .reshape((kv_heads, group * rows, columns))?,
                None => scores,
            };
            // 16-bit types have too few digits for sums over long sequences.
            let shares = ops::softmax(&scores, D::Minus1)?.to_dtype(q.dtype())?;
            let values = values.narrow(1, attended.start, columns)?;
            let out = shares.matmul(&values)?.reshape((heads, rows, head_dim))?;
            parts.push(out.transpose(0, 1)?.contiguous()?);
        }
    }
    Tensor::cat(&parts, 0)
}

/// The rows of a sequence, `[kv_heads, tokens, head_dim]`.
fn heads_first(x: &Tensor, sequence: &PackedSequence) -> Result<Tensor> {
    let parts = sequence
        .rows(0..sequence.len)
        .map(|rows| x.narrow(0, rows.start, rows.len()))
        .collect::<Result<Vec<_>>>()?;
    Tensor::cat(&parts, 0)?.transpose(0, 1)?.contiguous()
}
