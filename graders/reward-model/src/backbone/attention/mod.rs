//! Attention within each sequence of a batch. It is computed in tiles of a sequence's tokens, from
//! the first token on, so that the rows of a tile depend only on the sequence.

mod masks;
mod span;
mod tiles;
mod unfused;

pub(crate) use masks::Masks;
pub(crate) use span::AttentionSpan;

use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::packed::Packed;

/// Scaled dot-product attention of `q`, `[rows, heads, head_dim]`, over `k` and `v`, `[rows,
/// kv_heads, head_dim]`. Returns `[rows, heads * head_dim]`.
pub(crate) fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    packed: &Packed,
    span: AttentionSpan,
) -> Result<Tensor> {
    let (rows, heads, head_dim) = q.dims3()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "head dimensions are small"
    )]
    let scale = (1.0 / (head_dim as f64).sqrt()) as f32;
    let out = if q.device().is_cpu() && q.dtype() == candle_core::DType::F32 {
        let tiles = tiles::Tiles {
            sequences: Arc::clone(&packed.sequences),
            span,
            scale,
        };
        q.contiguous()?
            .apply_op3_no_bwd(&k.contiguous()?, &v.contiguous()?, &tiles)?
    } else {
        unfused::attention(q, k, v, packed, span, scale)?
    };
    out.reshape((rows, heads * head_dim))
}
