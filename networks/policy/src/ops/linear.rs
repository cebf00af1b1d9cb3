//! Products with weights.

use assay_kernels::{Product, View, multiply};
use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};

use super::norm::x_type;
use super::numbers::{Held, Number, by_type, is_fused, slice};

/// `x` of `[rows, in]` times the transpose of `weight` of `[out, in]`, to `[rows, out]`.
pub(crate) fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if is_fused(x) {
        return x.contiguous()?.apply_op2(weight, Linear);
    }
    x.matmul(&weight.t()?)
}

struct Linear;

/// Multiplications under which one thread is quicker than waking others.
const ALONE: usize = 1 << 20;

/// Threads for a product of this size.
fn threads((m, n, k): (usize, usize, usize)) -> usize {
    if m * n * k < ALONE { 1 } else { rayon::current_num_threads() }
}

/// `left * right`, for matrices seen through views.
fn product<T: Number>(size @ (m, n, _): (usize, usize, usize), left: (&[T], View), right: (&[T], View)) -> Vec<T> {
    let mut out = vec![T::ZERO; m * n];
    multiply(size, Product::plain().on(threads(size)), left, right, (&mut out, View::rows(n)));
    out
}

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout, w: &CpuStorage, wl: &Layout) -> Result<(CpuStorage, Shape)> {
        let ((rows, inner), (out, same)) = (xl.shape().dims2()?, wl.shape().dims2()?);
        if inner != same {
            candle_core::bail!("rows of {inner} numbers do not fit a weight of {out} x {same}");
        }
        by_type!(x_type(x), T => {
            let weight = View::rows(inner).transposed();
            let found = product::<T>((rows, out, inner), (slice(x, xl)?, View::rows(inner)), (slice(w, wl)?, weight));
            Ok((<T as candle_core::WithDType>::to_cpu_storage_owned(found), Shape::from((rows, out))))
        })
    }

    /// `dx = dy * w` and `dw = dy^T * x`. Written for the layout weights have, so that no gradient is transposed.
    fn bwd(&self, x: &Tensor, weight: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let ((rows, inner), (out, _)) = (x.dims2()?, weight.dims2()?);
        let grad = grad.contiguous()?;
        by_type!(x.dtype(), T => {
            let (xs, ws, gs) = (Held::new(x), Held::new(weight), Held::new(&grad));
            let (xs, ws, gs) = (xs.slice::<T>()?, ws.slice::<T>()?, gs.slice::<T>()?);
            let dx = x.track_op().then(|| {
                let found = product((rows, inner, out), (gs, View::rows(out)), (ws, View::rows(inner)));
                Tensor::from_vec(found, (rows, inner), x.device())
            });
            let dw = weight.track_op().then(|| {
                let found = product((out, inner, rows), (gs, View::rows(out).transposed()), (xs, View::rows(inner)));
                Tensor::from_vec(found, (out, inner), x.device())
            });
            Ok((dx.transpose()?, dw.transpose()?))
        })
    }
}
