//! Attention within each sequence of a batch.

mod tiles;
mod unfused;

use std::sync::Arc;

use candle_core::{Result, Tensor};

/// Tokens of its sequence that a token attends to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttentionSpan {
    /// The token and those before it: at most this number in total, or all of them.
    Causal(Option<usize>),
    /// All tokens, or those within this distance on either side.
    Bidirectional(Option<usize>),
}

impl AttentionSpan {
    /// Union of the ranges that the tokens `first..end` attend to, in a sequence of `len` tokens.
    pub(crate) fn range_of_rows(
        self,
        first: usize,
        end: usize,
        len: usize,
    ) -> std::ops::Range<usize> {
        self.range(first, len).start..self.range(end.max(1) - 1, len).end
    }

    /// Range of tokens that the token at `at` attends to, in a sequence of `len` tokens.
    pub(crate) fn range(self, at: usize, len: usize) -> std::ops::Range<usize> {
        match self {
            Self::Causal(window) => {
                window.map_or(0, |window| (at + 1).saturating_sub(window))..at + 1
            }
            Self::Bidirectional(None) => 0..len,
            Self::Bidirectional(Some(half_window)) => {
                at.saturating_sub(half_window)..len.min(at + half_window + 1)
            }
        }
    }
}

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
