//! Attention within each sequence of a batch.

mod span;
mod tiles;
mod unfused;

pub(crate) use span::AttentionSpan;

use std::sync::Arc;

use candle_core::{Result, Tensor};

/// Scaled dot-product attention of `q`, `[tokens, heads, head_dim]`, over `k` and `v`, `[tokens,
/// kv_heads, head_dim]`. Returns `[tokens, heads * head_dim]`.
pub(crate) fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    starts: &Arc<[usize]>,
    span: AttentionSpan,
) -> Result<Tensor> {
    let (tokens, heads, head_dim) = q.dims3()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "head dimensions are small"
    )]
    let scale = (1.0 / (head_dim as f64).sqrt()) as f32;
    let out = if q.device().is_cpu() && q.dtype() == candle_core::DType::F32 {
        let tiles = tiles::Tiles {
            starts: Arc::clone(starts),
            span,
            scale,
        };
        q.contiguous()?
            .apply_op3_no_bwd(&k.contiguous()?, &v.contiguous()?, &tiles)?
    } else {
        unfused::attention(q, k, v, starts, span, scale)?
    };
    out.reshape((tokens, heads * head_dim))
}
