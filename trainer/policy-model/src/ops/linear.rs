//! Linear maps.

use assay_kernels::{PackedWeights, Product, View, multiply};
use candle_core::{DType, Result, Tensor};
use rayon::prelude::*;

use super::fused::{Number, ReadGuard};
use super::tape::{Backward, FusedOp, Tape};

/// `x * weight^T` with `x` of shape `[rows, in]` and `weight` of shape `[out, in]`.
pub(super) fn linear(x: &Tensor, weight: &Tensor, tape: &mut Tape) -> Result<Tensor> {
    if !tape.fuses(x) {
        return x.matmul(&weight.t()?);
    }
    let ((rows, inner), (out, same)) = (x.dims2()?, weight.dims2()?);
    if inner != same {
        candle_core::bail!("cannot multiply rows of {inner} numbers by a weight of {out} x {same}");
    }
    tape.run(Linear { rows, inner, out }, &[x, weight])
}

/// A weight of shape `[out, in]`.
#[derive(Debug)]
pub(crate) enum Weight {
    /// A tensor, which can be trained.
    Tensor(Tensor),
    /// Packed for fast products without gradients.
    Packed(PackedWeights),
}

impl Weight {
    /// Whether it is trained.
    pub(crate) fn learns(&self) -> bool {
        match self {
            Self::Tensor(tensor) => tensor.is_variable(),
            Self::Packed(_) => false,
        }
    }

    /// Packs the weight if packed products support it: on a CPU in `f32`.
    pub(crate) fn pack(self) -> Result<Self> {
        match self {
            Self::Tensor(tensor) if tensor.device().is_cpu() && tensor.dtype() == DType::F32 => {
                Ok(Self::Packed(PackedWeights::new(
                    ReadGuard::new(&tensor).slice()?,
                    tensor.dim(1)?,
                )))
            }
            other => Ok(other),
        }
    }

    /// `x * weight^T` with `x` of shape `[rows, in]`.
    pub(crate) fn apply(&self, x: &Tensor, tape: &mut Tape) -> Result<Tensor> {
        match self {
            Self::Tensor(weight) => linear(x, weight, tape),
            Self::Packed(weights) => packed_product(x, weights),
        }
    }
}

/// Multiplies rows by a packed weight; each thread takes some rows.
fn packed_product(x: &Tensor, weights: &PackedWeights) -> Result<Tensor> {
    let (rows, inputs) = x.dims2()?;
    let outputs = weights.outputs();
    if inputs != weights.inputs() {
        candle_core::bail!(
            "cannot multiply rows of {inputs} numbers by a weight of {outputs} x {}",
            weights.inputs()
        );
    }
    let threads = if rows * inputs * outputs < SINGLE_THREAD {
        1
    } else {
        rayon::current_num_threads()
    };
    let piece = rows.div_ceil(threads).next_multiple_of(PackedWeights::ROWS);
    let mut product = vec![0.0; rows * outputs];
    let guard = ReadGuard::new(x);
    let pieces = product.par_chunks_mut((piece * outputs).max(1));
    pieces
        .zip(guard.slice::<f32>()?.par_chunks((piece * inputs).max(1)))
        .for_each(|(product, x)| weights.multiply(x, product));
    Tensor::from_vec(product, (rows, outputs), x.device())
}

struct Linear {
    rows: usize,
    inner: usize,
    out: usize,
}

/// Number of multiplications below which one thread is faster than waking others.
const SINGLE_THREAD: usize = 1 << 20;

/// Writes `left * right` to `out`, or adds it to `out`, for matrices given as views.
pub(super) fn product<T: Number>(
    size @ (m, n, k): (usize, usize, usize),
    left: (&[T], View),
    right: (&[T], View),
    out: &mut [T],
    add: bool,
) {
    let threads = if m * n * k < SINGLE_THREAD {
        1
    } else {
        rayon::current_num_threads()
    };
    multiply(
        size,
        Product {
            add,
            ..Product::plain().with_threads(threads)
        },
        left,
        right,
        (out, View::rows(n)),
    );
}

impl<T: Number> FusedOp<T> for Linear {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let Self { rows, inner, out } = *self;
        let mut numbers = vec![T::ZERO; rows * out];
        let (x, weight) = (
            (inputs[0], View::rows(inner)),
            (inputs[1], View::rows(inner).transposed()),
        );
        product((rows, out, inner), x, weight, &mut numbers, false);
        Ok((numbers, out))
    }

    /// `dx = dy * w` and `dw = dy^T * x`, accumulated in the layout of the weight, so that nothing
    /// is transposed or copied.
    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        let Self { rows, inner, out } = *self;
        let (x, weight) = (
            (backward.inputs[0], View::rows(inner)),
            (backward.inputs[1], View::rows(inner)),
        );
        if backward.is_required(0) {
            backward.accumulate(0, |sum| {
                let gradient = (gradient.as_slice(), View::rows(out));
                product((rows, inner, out), gradient, weight, sum, true);
            })?;
        }
        if backward.is_required(1) {
            backward.accumulate(1, |sum| {
                let gradient = (gradient.as_slice(), View::rows(out).transposed());
                product((out, inner, rows), gradient, x, sum, true);
            })?;
        }
        Ok(())
    }
}
