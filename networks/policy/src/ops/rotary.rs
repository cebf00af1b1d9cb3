//! Rotary positions (RoPE, arXiv 2104.09864), in the order of Hugging Face's weights: dimension `i` turns with `i + head_dim / 2`.

use candle_core::{CpuStorage, CustomOp3, D, DType, Device, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::norm::x_type;
use super::numbers::{Held, Number, ROWS, by_type, is_fused, slice, tensor};

/// Cosines and sines of the positions of some tokens, each `[tokens, head_dim / 2]`.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    cos: Tensor,
    sin: Tensor,
}

impl Turns {
    /// For tokens at these positions, with this many radians a position for each pair of dimensions.
    pub(crate) fn new(positions: &[u32], frequencies: &[f32], dtype: DType, device: &Device) -> Result<Self> {
        #[expect(clippy::cast_precision_loss, reason = "as peers compute it: positions in f32")]
        let angles: Vec<f32> =
            positions.iter().flat_map(|at| frequencies.iter().map(move |turn| *at as f32 * turn)).collect();
        let angles = Tensor::from_vec(angles, (positions.len(), frequencies.len()), &Device::Cpu)?;
        let place = |table: Tensor| table.to_dtype(dtype)?.to_device(device);
        Ok(Self { cos: place(angles.cos()?)?, sin: place(angles.sin()?)? })
    }
}

/// Turns the heads of `[tokens, heads, head_dim]`.
pub(crate) fn rotate(x: &Tensor, turns: &Turns) -> Result<Tensor> {
    if is_fused(x) {
        return x.contiguous()?.apply_op3(&turns.cos, &turns.sin, Rotate);
    }
    let half = x.dim(D::Minus1)? / 2;
    let (one, other) = (x.narrow(D::Minus1, 0, half)?, x.narrow(D::Minus1, half, half)?);
    let (cos, sin) = (turns.cos.unsqueeze(1)?, turns.sin.unsqueeze(1)?);
    let first = (one.broadcast_mul(&cos)? - other.broadcast_mul(&sin)?)?;
    let second = (other.broadcast_mul(&cos)? + one.broadcast_mul(&sin)?)?;
    Tensor::cat(&[first, second], D::Minus1)
}

struct Rotate;

/// Turns each head of each token by its angles, or back.
fn turned<T: Number>(x: &[T], [heads, head_dim]: [usize; 2], cos: &[T], sin: &[T], back: bool) -> Vec<T> {
    let (half, width) = (head_dim / 2, heads * head_dim);
    let mut out = vec![T::ZERO; x.len()];
    let chunks = out.par_chunks_mut(ROWS * width).zip(x.par_chunks(ROWS * width));
    let angles = cos.par_chunks(ROWS * half).zip(sin.par_chunks(ROWS * half));
    chunks.zip(angles).for_each(|((out, x), (cos, sin))| {
        let rows = out.chunks_exact_mut(width).zip(x.chunks_exact(width));
        for ((out, x), (cos, sin)) in rows.zip(cos.chunks_exact(half).zip(sin.chunks_exact(half))) {
            for (out, x) in out.chunks_exact_mut(head_dim).zip(x.chunks_exact(head_dim)) {
                let ((first, second), (one, other)) = (out.split_at_mut(half), x.split_at(half));
                for at in 0..half {
                    let sin = if back { -sin[at] } else { sin[at] };
                    first[at] = one[at] * cos[at] - other[at] * sin;
                    second[at] = other[at] * cos[at] + one[at] * sin;
                }
            }
        }
    });
    out
}

impl CustomOp3 for Rotate {
    fn name(&self) -> &'static str {
        "rotate"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        cos: &CpuStorage,
        cl: &Layout,
        sin: &CpuStorage,
        sl: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (_, heads, head_dim) = xl.shape().dims3()?;
        by_type!(x_type(x), T => {
            let out = turned::<T>(slice(x, xl)?, [heads, head_dim], slice(cos, cl)?, slice(sin, sl)?, false);
            Ok((<T as candle_core::WithDType>::to_cpu_storage_owned(out), xl.shape().clone()))
        })
    }

    fn bwd(
        &self,
        x: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (_, heads, head_dim) = x.dims3()?;
        let grad = grad.contiguous()?;
        by_type!(x.dtype(), T => {
            let (grads, coss, sins) = (Held::new(&grad), Held::new(cos), Held::new(sin));
            let dx = turned::<T>(grads.slice()?, [heads, head_dim], coss.slice()?, sins.slice()?, true);
            Ok((Some(tensor(dx, x)?), None, None))
        })
    }
}
