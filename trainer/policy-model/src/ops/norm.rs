//! Root mean square normalisation (RMSNorm, arXiv 1910.07467).

use assay_kernels::{dot, wide};
use candle_core::{D, DType, Result, Tensor};
use rayon::prelude::*;

use super::fused::Number;
use super::parallel::rows_per_chunk;
use super::tape::{Backward, FusedOp, Tape};

/// `x * weight / sqrt(mean(x^2) + eps)` over each segment of a row with the length of `weight`: the
/// whole row, or each of its heads.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64, tape: &mut Tape) -> Result<Tensor> {
    let (rows, width) = x.dims2()?;
    let size = weight.dim(0)?;
    if tape.fuses(x) {
        return tape.run(RmsNorm { eps, width }, &[x, weight]);
    }
    let segments = x.reshape((rows, width / size, size))?;
    let exact = if x.dtype() == DType::F64 {
        segments
    } else {
        segments.to_dtype(DType::F32)?
    };
    let scale = (exact.sqr()?.mean_keepdim(D::Minus1)? + eps)?
        .sqrt()?
        .recip()?;
    exact
        .broadcast_mul(&scale)?
        .to_dtype(x.dtype())?
        .broadcast_mul(weight)?
        .reshape((rows, width))
}

struct RmsNorm {
    eps: f64,
    width: usize,
}

/// The factor of a segment.
#[inline(always)]
fn scale<T: Number>(segment: &[T], eps: f64) -> T {
    let size = segment.len() as f64;
    T::narrow(1.0 / (dot(segment, segment).widen() / size + eps).sqrt())
}

#[inline(always)]
fn normed<T: Number>(x: &[T], weight: &[T], eps: f64, out: &mut [T]) {
    let size = weight.len();
    for (out, x) in out.chunks_exact_mut(size).zip(x.chunks_exact(size)) {
        let scale = scale(x, eps);
        for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
            *out = *x * scale * *weight;
        }
    }
}

/// The gradients. With `n = x * scale`: `dw = sum(dy * n)` over segments and
/// `dx = scale * (dy * w - n * mean(dy * w * n))`.
#[inline(always)]
fn differentiated<T: Number>(
    [x, weight, gradient]: [&[T]; 3],
    eps: f64,
    dx: &mut [T],
    dw: &mut [T],
) {
    let size = weight.len();
    let share = T::narrow(1.0 / size as f64);
    let segments = dx
        .chunks_exact_mut(size)
        .zip(x.chunks_exact(size))
        .zip(gradient.chunks_exact(size));
    for ((dx, x), gradient) in segments {
        let scale = scale(x, eps);
        for ((dx, gradient), weight) in dx.iter_mut().zip(gradient).zip(weight) {
            *dx = *gradient * *weight;
        }
        let mean = dot(dx, x) * scale * share;
        for (((dx, dw), x), gradient) in dx.iter_mut().zip(&mut *dw).zip(x).zip(gradient) {
            let normed = *x * scale;
            *dw += *gradient * normed;
            *dx = scale * (*dx - normed * mean);
        }
    }
}

impl<T: Number> FusedOp<T> for RmsNorm {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let (x, weight) = (inputs[0], inputs[1]);
        let piece = rows_per_chunk(self.width) * self.width;
        let mut out = vec![T::ZERO; x.len()];
        out.par_chunks_mut(piece)
            .zip(x.par_chunks(piece))
            .for_each(|(out, x)| {
                wide(
                    #[inline(always)]
                    || normed(x, weight, self.eps, out),
                );
            });
        Ok((out, self.width))
    }

    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        let (x, weight) = (backward.inputs[0], backward.inputs[1]);
        let piece = rows_per_chunk(self.width) * self.width;
        let mut dx = vec![T::ZERO; x.len()];
        let pieces = dx
            .par_chunks_mut(piece)
            .zip(x.par_chunks(piece))
            .zip(gradient.par_chunks(piece));
        let parts: Vec<Vec<T>> = pieces
            .map(|((dx, x), gradient)| {
                let mut dw = vec![T::ZERO; weight.len()];
                wide(
                    #[inline(always)]
                    || differentiated([x, weight, gradient], self.eps, dx, &mut dw),
                );
                dw
            })
            .collect();
        backward.add(0, dx)?;
        if backward.is_required(1) {
            backward.accumulate(1, |sum| {
                for part in parts {
                    sum.iter_mut()
                        .zip(part)
                        .for_each(|(sum, part)| *sum += part);
                }
            })?;
        }
        Ok(())
    }
}
