//! FlashAttention on a GPU.
//!
//! `deploy/cuda` builds the kernels such that the result of a row depends only on its sequence. A
//! call that fails returns numbers that are not finite, which become an error of the batch.

use candle_core::{Result, Tensor};
use candle_flash_attn::flash_attn_varlen_windowed;

use super::AttentionSpan;
use super::varlen::Upload;
use crate::backbone::packed::Packed;

/// Like [`super::attention`], but returns `[rows, heads, head_dim]`.
pub(super) fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    packed: &Packed,
    span: AttentionSpan,
    scale: f32,
) -> Result<Tensor> {
    // Tokens before and after a token that it attends to.
    let (before, after) = match span {
        AttentionSpan::Causal(None) => (None, Some(0)),
        AttentionSpan::Causal(Some(window)) => (Some(window.saturating_sub(1)), Some(0)),
        AttentionSpan::Bidirectional(window) => (window, window),
    };
    let calls = packed.calls.get(&packed.sequences, q.device())?;
    let outputs = calls.iter().map(|upload| {
        let Upload {
            call,
            query_starts,
            key_starts,
            keys,
        } = upload;
        let own = |x: &Tensor| x.narrow(0, call.queries.start, call.queries.len());
        let (k, v) = match keys {
            Some(rows) => (k.index_select(rows, 0)?, v.index_select(rows, 0)?),
            None => (own(k)?, own(v)?),
        };
        let [queries, longest] = call.longest;
        // The library would use another kernel in a batch of sequences that are shorter than the
        // window, which might sum in another order.
        let longest = longest.max(before.unwrap_or_default());
        flash_attn_varlen_windowed(
            &own(q)?,
            &k,
            &v,
            query_starts,
            key_starts,
            queries,
            longest,
            scale,
            before,
            after,
        )
    });
    Tensor::cat(&outputs.collect::<Result<Vec<_>>>()?, 0)
}
