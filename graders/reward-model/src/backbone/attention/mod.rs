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
    fn choose(is_cpu: bool, dtype: DType, head_dim: usize, may_use_flash: bool) -> Self {
        let is_built = matches!(dtype, DType::BF16 | DType::F16) && matches!(head_dim, 64 | 128);
        if is_cpu && dtype == DType::F32 {
            Self::CpuTiles
        } else if !is_cpu && is_built && may_use_flash {
            Self::Flash
        } else {
            Self::Unfused
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
    // Head dimensions are small.
    let scale = (1.0 / (head_dim as f64).sqrt()) as f32;
    let may_use_flash = packed
        .gpu
        .attention
        .may_use_flash(cfg!(feature = "flash-attn"));
    let is_cpu = q.device().is_cpu();
    let out = match Implementation::choose(is_cpu, q.dtype(), head_dim, may_use_flash) {
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
    fn flash_attention_is_used_where_it_is_built() {
        let choose = Implementation::choose;
        for may_use_flash in [false, true] {
            let cpu = |dtype| choose(true, dtype, 128, may_use_flash);
            assert_eq!(cpu(DType::F32), Implementation::CpuTiles);
            assert_eq!(cpu(DType::BF16), Implementation::Unfused);
        }
        for dtype in [DType::BF16, DType::F16] {
            for head_dim in [64, 128] {
                let gpu = |may_use_flash| choose(false, dtype, head_dim, may_use_flash);
                assert_eq!(gpu(true), Implementation::Flash);
                assert_eq!(gpu(false), Implementation::Unfused);
            }
            assert_eq!(choose(false, dtype, 96, true), Implementation::Unfused);
        }
        assert_eq!(choose(false, DType::F32, 64, true), Implementation::Unfused);
    }
}
