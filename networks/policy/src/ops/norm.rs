//! The norm by the root of the mean square (RMSNorm, arXiv 1910.07467).

use assay_kernels::dot;
use candle_core::{CpuStorage, CustomOp2, D, DType, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::numbers::{Held, Number, ROWS, by_type, is_fused, slice, tensor};

/// `x * weight / sqrt(mean(x^2) + eps)` over the last dimension of `x`, whose size `weight` has.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    if is_fused(x) {
        return x.contiguous()?.apply_op2(weight, RmsNorm { eps });
    }
    let wide = if x.dtype() == DType::F64 { x.clone() } else { x.to_dtype(DType::F32)? };
    let scale = (wide.sqr()?.mean_keepdim(D::Minus1)? + eps)?.sqrt()?.recip()?;
    wide.broadcast_mul(&scale)?.to_dtype(x.dtype())?.broadcast_mul(weight)
}

struct RmsNorm {
    eps: f64,
}

impl RmsNorm {
    /// What a row is multiplied with.
    fn scale<T: Number>(&self, row: &[T]) -> T {
        #[expect(clippy::cast_precision_loss, reason = "rows are short")]
        let size = row.len() as f64;
        T::narrow(1.0 / (dot(row, row).widen() / size + self.eps).sqrt())
    }

    fn forward<T: Number>(&self, x: &[T], weight: &[T]) -> Vec<T> {
        let size = weight.len();
        let mut out = vec![T::ZERO; x.len()];
        out.par_chunks_mut(ROWS * size).zip(x.par_chunks(ROWS * size)).for_each(|(out, x)| {
            for (out, x) in out.chunks_exact_mut(size).zip(x.chunks_exact(size)) {
                let scale = self.scale(x);
                for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
                    *out = *x * scale * *weight;
                }
            }
        });
        out
    }

    /// With `n = x * scale`: `dw = sum(dy * n)` over rows and `dx = scale * (dy * w - n * mean(dy * w * n))`.
    fn backward<T: Number>(&self, x: &[T], weight: &[T], grad: &[T]) -> (Vec<T>, Vec<T>) {
        let size = weight.len();
        #[expect(clippy::cast_precision_loss, reason = "rows are short")]
        let share = T::narrow(1.0 / size as f64);
        let mut dx = vec![T::ZERO; x.len()];
        let chunks = dx.par_chunks_mut(ROWS * size).zip(x.par_chunks(ROWS * size)).zip(grad.par_chunks(ROWS * size));
        let sums: Vec<Vec<T>> = chunks
            .map(|((dx, x), grad)| {
                let mut dw = vec![T::ZERO; size];
                let rows = dx.chunks_exact_mut(size).zip(x.chunks_exact(size)).zip(grad.chunks_exact(size));
                for ((dx, x), grad) in rows {
                    let scale = self.scale(x);
                    for ((dx, grad), weight) in dx.iter_mut().zip(grad).zip(weight) {
                        *dx = *grad * *weight;
                    }
                    let mean = dot(dx, x) * scale * share;
                    for (((dx, dw), x), grad) in dx.iter_mut().zip(&mut dw).zip(x).zip(grad) {
                        let normed = *x * scale;
                        *dw += *grad * normed;
                        *dx = scale * (*dx - normed * mean);
                    }
                }
                dw
            })
            .collect();
        let mut dw = vec![T::ZERO; size];
        for sum in sums {
            dw.iter_mut().zip(sum).for_each(|(dw, sum)| *dw += sum);
        }
        (dx, dw)
    }
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout, w: &CpuStorage, wl: &Layout) -> Result<(CpuStorage, Shape)> {
        by_type!(x_type(x), T => {
            let out = self.forward::<T>(slice(x, xl)?, slice(w, wl)?);
            Ok((<T as candle_core::WithDType>::to_cpu_storage_owned(out), xl.shape().clone()))
        })
    }

    fn bwd(&self, x: &Tensor, weight: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        by_type!(x.dtype(), T => {
            let (xs, ws, gs) = (Held::new(x), Held::new(weight), Held::new(&grad));
            let (dx, dw) = self.backward::<T>(xs.slice()?, ws.slice()?, gs.slice()?);
            Ok((Some(tensor(dx, x)?), Some(tensor(dw, weight)?)))
        })
    }
}

/// The type of stored numbers.
pub(super) fn x_type(storage: &CpuStorage) -> DType {
    candle_core::backend::BackendStorage::dtype(storage)
}
