//! Products with weights.

use assay_kernels::{PackedWeights, Product, View, multiply};
use candle_core::{DType, Result, Tensor};
use rayon::prelude::*;

use super::numbers::{Held, Number, is_fused};
use super::tape::{Back, Pass, Tape};

/// `x` of `[rows, in]` times the transpose of `weight` of `[out, in]`, to `[rows, out]`.
pub(super) fn linear(x: &Tensor, weight: &Tensor, tape: &mut Tape) -> Result<Tensor> {
    if !is_fused(x) {
        return x.matmul(&weight.t()?);
    }
    let ((rows, inner), (out, same)) = (x.dims2()?, weight.dims2()?);
    if inner != same {
        candle_core::bail!("rows of {inner} numbers do not fit a weight of {out} x {same}");
    }
    tape.run(Linear { rows, inner, out }, &[x, weight])
}

/// A weight of `[out, in]`.
#[derive(Debug)]
pub(crate) enum Weight {
    /// As it is learned and stored.
    Plain(Tensor),
    /// Laid out for many products, of which no gradient is asked.
    Laid(PackedWeights),
}

impl Weight {
    /// Laid out where there are products for it: on a CPU, in `f32`.
    pub(crate) fn laid_out(self) -> Result<Self> {
        match self {
            Self::Plain(tensor) if tensor.device().is_cpu() && tensor.dtype() == DType::F32 => {
                Ok(Self::Laid(PackedWeights::new(
                    Held::new(&tensor).slice()?,
                    tensor.dim(1)?,
                )))
            }
            other => Ok(other),
        }
    }

    /// `x` of `[rows, in]` times its transpose, to `[rows, out]`.
    pub(crate) fn of(&self, x: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        match self {
            Self::Plain(weight) => linear(x, weight, tape),
            Self::Laid(panels) => by_rows(x, panels),
        }
    }
}

/// Each worker takes some rows through the whole weight.
fn by_rows(x: &Tensor, panels: &PackedWeights) -> Result<Tensor> {
    let (rows, inputs) = x.dims2()?;
    let outputs = panels.outputs();
    if inputs != panels.inputs() {
        candle_core::bail!(
            "rows of {inputs} numbers do not fit a weight of {outputs} x {}",
            panels.inputs()
        );
    }
    let threads = if rows * inputs * outputs < ALONE {
        1
    } else {
        rayon::current_num_threads()
    };
    let piece = rows.div_ceil(threads).next_multiple_of(PackedWeights::ROWS);
    let mut product = vec![0.0; rows * outputs];
    let held = Held::new(x);
    let pieces = product.par_chunks_mut((piece * outputs).max(1));
    pieces
        .zip(held.slice::<f32>()?.par_chunks((piece * inputs).max(1)))
        .for_each(|(product, x)| panels.multiply(x, product));
    Tensor::from_vec(product, (rows, outputs), x.device())
}

struct Linear {
    rows: usize,
    inner: usize,
    out: usize,
}

/// Multiplications under which one thread is quicker than waking others.
const ALONE: usize = 1 << 20;

/// Adds `left * right` to `sum`, for matrices seen through views.
fn add_product<T: Number>(
    size @ (m, n, k): (usize, usize, usize),
    left: (&[T], View),
    right: (&[T], View),
    sum: &mut [T],
) {
    let threads = if m * n * k < ALONE {
        1
    } else {
        rayon::current_num_threads()
    };
    multiply(
        size,
        Product::plain().added().on(threads),
        left,
        right,
        (sum, View::rows(n)),
    );
}

impl<T: Number> Pass<T> for Linear {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let Self { rows, inner, out } = *self;
        let mut product = vec![T::ZERO; rows * out];
        let (x, weight) = (
            (inputs[0], View::rows(inner)),
            (inputs[1], View::rows(inner).transposed()),
        );
        add_product((rows, out, inner), x, weight, &mut product);
        Ok((product, out))
    }

    /// `dx = dy * w` and `dw = dy^T * x`, for the layout weights have and onto what is there, so
    /// that nothing is transposed or moved.
    fn backward(
        &self,
        inputs: &[&[T]],
        _: &[T],
        gradient: Vec<T>,
        back: &mut Back<'_, T>,
    ) -> Result<()> {
        let Self { rows, inner, out } = *self;
        let (x, weight) = (
            (inputs[0], View::rows(inner)),
            (inputs[1], View::rows(inner)),
        );
        if back.wants(0) {
            add_product(
                (rows, inner, out),
                (&gradient, View::rows(out)),
                weight,
                back.sum(0),
            );
        }
        if back.wants(1) {
            add_product(
                (out, inner, rows),
                (&gradient, View::rows(out).transposed()),
                x,
                back.sum(1),
            );
        }
        Ok(())
    }
}
