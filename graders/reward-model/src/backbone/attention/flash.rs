//! FlashAttention on a GPU. Not run on a GPU yet.
//!
//! `deploy/cuda` builds the kernels such that the result of a row depends only on its sequence. A
//! call that fails returns numbers that are not finite, which become an error of the batch.

use std::sync::OnceLock;

use candle_core::{Device, Result, Tensor};
use candle_flash_attn::flash_attn_varlen_windowed;

use super::AttentionSpan;
use super::varlen::{self, Call};
use crate::backbone::packed::Packed;

/// The calls of a batch, computed once for all layers.
#[derive(Default)]
pub(crate) struct Calls(OnceLock<Vec<Upload>>);

/// A call with its tensors on the device.
struct Upload {
    call: Call,
    query_starts: Tensor,
    key_starts: Tensor,
    keys: Option<Tensor>,
}

impl Upload {
    fn new(call: Call, device: &Device) -> Result<Self> {
        let tensor = |numbers: &[u32]| Tensor::new(numbers, device);
        Ok(Self {
            query_starts: tensor(&call.query_starts)?,
            key_starts: tensor(&call.key_starts)?,
            keys: call.keys.as_deref().map(tensor).transpose()?,
            call,
        })
    }
}

impl Calls {
    fn get(&self, packed: &Packed, device: &Device) -> Result<&[Upload]> {
        if let Some(calls) = self.0.get() {
            return Ok(calls);
        }
        let calls = varlen::calls(&packed.sequences).into_iter();
        let calls = calls
            .map(|call| Upload::new(call, device))
            .collect::<Result<Vec<_>>>()?;
        Ok(self.0.get_or_init(|| calls))
    }
}

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
    let calls = packed.calls.get(packed, q.device())?;
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
