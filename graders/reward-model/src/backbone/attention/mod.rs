//! Attention within each sequence of a batch. It is computed in tiles of a sequence's tokens, from
//! the first token on, so that the rows of a tile depend only on the sequence.

#[cfg(feature = "flash-attn")]
mod flash;
mod masks;
mod span;
mod tiles;
mod unfused;
#[cfg(any(test, feature = "flash-attn"))]
mod varlen;

pub(crate) use masks::Masks;
pub(crate) use span::AttentionSpan;
#[cfg(feature = "flash-attn")]
pub(crate) use varlen::Calls;

use std::sync::Arc;

use candle_core::{DType, Result, Tensor};

use super::packed::Packed;
use crate::AttentionKernel;

/// An implementation of attention.
#[derive(Debug, PartialEq, Eq)]
enum Implementation {
    /// Fused, in `f32` on a CPU.
    CpuTiles,
    /// Basic tensor operations on tiles.
    Unfused,
    /// FlashAttention.
    Flash,
}

impl Implementation {
    /// The implementation for a device, type and head dimension. It never depends on the batch.
    fn choose(is_cpu: bool, dtype: DType, head_dim: usize, kernel: AttentionKernel) -> Self {
        let is_built = matches!(dtype, DType::BF16 | DType::F16) && matches!(head_dim, 64 | 128);
        match kernel {
            _ if is_cpu && dtype == DType::F32 => Self::CpuTiles,
            AttentionKernel::Flash if !is_cpu && is_built => Self::Flash,
            _ => Self::Unfused,
        }
    }
}

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
    let (is_cpu, kernel) = (q.device().is_cpu(), packed.gpu.attention);
    let out = match Implementation::choose(is_cpu, q.dtype(), head_dim, kernel) {
        Implementation::CpuTiles => {
            let tiles = tiles::Tiles {
                sequences: Arc::clone(&packed.sequences),
                span,
                scale,
            };
            q.contiguous()?
                .apply_op3_no_bwd(&k.contiguous()?, &v.contiguous()?, &tiles)?
        }
        Implementation::Unfused => unfused::attention(q, k, v, packed, span, scale)?,
        #[cfg(feature = "flash-attn")]
        Implementation::Flash => flash::attention(q, k, v, packed, span, scale)?,
        #[cfg(not(feature = "flash-attn"))]
        Implementation::Flash => candle_core::bail!("this binary was built without FlashAttention"),
    };
    out.reshape((rows, heads * head_dim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flash_attention_is_used_only_on_request_and_where_it_is_built() {
        use AttentionKernel::{Auto, Flash, Tiles};
        let choose = Implementation::choose;
        for kernel in [Auto, Tiles, Flash] {
            let cpu = |dtype| choose(true, dtype, 128, kernel);
            assert_eq!(cpu(DType::F32), Implementation::CpuTiles);
            assert_eq!(cpu(DType::BF16), Implementation::Unfused);
        }
        for dtype in [DType::BF16, DType::F16] {
            for head_dim in [64, 128] {
                let gpu = |kernel| choose(false, dtype, head_dim, kernel);
                assert_eq!(gpu(Flash), Implementation::Flash);
                assert_eq!(gpu(Auto), Implementation::Unfused);
                assert_eq!(gpu(Tiles), Implementation::Unfused);
            }
            assert_eq!(choose(false, dtype, 96, Flash), Implementation::Unfused);
        }
        assert_eq!(
            choose(false, DType::F32, 64, Flash),
            Implementation::Unfused
        );
    }
}
