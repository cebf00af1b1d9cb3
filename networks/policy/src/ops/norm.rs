//! The norm by the root of the mean square (RMSNorm, arXiv 1910.07467).

use assay_kernels::{dot, wide};
use candle_core::{D, DType, Result, Tensor};
use rayon::prelude::*;

use super::numbers::{Number, is_fused};
use super::passes::rows_of;
use super::tape::{Back, Pass, Tape};

/// `x * weight / sqrt(mean(x^2) + eps)` over each stretch of a row as long as `weight`: a whole
/// row, or each head of it.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64, tape: &mut Tape) -> Result<Tensor> {
    let (rows, width) = x.dims2()?;
    let size = weight.dim(0)?;
    if is_fused(x) {
        return tape.run(RmsNorm { eps, width }, &[x, weight]);
    }
    let stretches = x.reshape((rows, width / size, size))?;
    let exact = if x.dtype() == DType::F64 {
        stretches
    } else {
        stretches.to_dtype(DType::F32)?
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

/// What a stretch is multiplied with.
#[inline(always)]
fn scale<T: Number>(stretch: &[T], eps: f64) -> T {
    #[expect(clippy::cast_precision_loss, reason = "rows are short")]
    let size = stretch.len() as f64;
    T::narrow(1.0 / (dot(stretch, stretch).widen() / size + eps).sqrt())
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

/// With `n = x * scale`: `dw = sum(dy * n)` over stretches and `dx = scale * (dy * w - n * mean(dy
/// * w * n))`.
#[inline(always)]
fn differentiated<T: Number>(
    [x, weight, gradient]: [&[T]; 3],
    eps: f64,
    dx: &mut [T],
    dw: &mut [T],
) {
    let size = weight.len();
    #[expect(clippy::cast_precision_loss, reason = "rows are short")]
    let share = T::narrow(1.0 / size as f64);
    let stretches = dx
        .chunks_exact_mut(size)
        .zip(x.chunks_exact(size))
        .zip(gradient.chunks_exact(size));
    for ((dx, x), gradient) in stretches {
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

impl<T: Number> Pass<T> for RmsNorm {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let (x, weight) = (inputs[0], inputs[1]);
        let piece = rows_of(self.width) * self.width;
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

    fn backward(
        &self,
        inputs: &[&[T]],
        _: &[T],
        gradient: Vec<T>,
        back: &mut Back<'_, T>,
    ) -> Result<()> {
        let (x, weight) = (inputs[0], inputs[1]);
        let piece = rows_of(self.width) * self.width;
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
        back.give(0, dx);
        if back.wants(1) {
            let sum = back.sum(1);
            for part in parts {
                sum.iter_mut()
                    .zip(part)
                    .for_each(|(sum, part)| *sum += part);
            }
        }
        Ok(())
    }
}
