//! Sums of matrices, and of matrices with a bias.

use candle_core::{Result, Tensor};

use super::fused::Number;
use super::parallel::add_to;
use super::tape::{Backward, FusedOp, Tape};

/// `x + scale * y`, for two matrices of the same shape.
pub(crate) fn add(x: &Tensor, y: &Tensor, scale: f64, tape: &mut Tape) -> Result<Tensor> {
    if tape.fuses(x) {
        return tape.run(
            Add {
                scale,
                width: x.dim(1)?,
            },
            &[x, y],
        );
    }
    x + (y * scale)?
}

/// `x` of `[rows, width]` with `bias` of `[width]` added to each row.
pub(crate) fn add_bias(x: &Tensor, bias: &Tensor, tape: &mut Tape) -> Result<Tensor> {
    if tape.fuses(x) {
        return tape.run(AddBias, &[x, bias]);
    }
    x.broadcast_add(bias)
}

struct Add {
    scale: f64,
    width: usize,
}

impl<T: Number> FusedOp<T> for Add {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let mut out = inputs[0].to_vec();
        add_to(&mut out, inputs[1], T::narrow(self.scale));
        Ok((out, self.width))
    }

    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        if backward.is_required(1) {
            backward.accumulate(1, |sum| add_to(sum, &gradient, T::narrow(self.scale)))?;
        }
        backward.add(0, gradient)
    }
}

struct AddBias;

impl<T: Number> FusedOp<T> for AddBias {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let (mut out, bias) = (inputs[0].to_vec(), inputs[1]);
        for row in out.chunks_exact_mut(bias.len()) {
            row.iter_mut()
                .zip(bias)
                .for_each(|(out, bias)| *out += *bias);
        }
        Ok((out, bias.len()))
    }

    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        if backward.is_required(1) {
            let width = backward.inputs[1].len();
            backward.accumulate(1, |sum| {
                for row in gradient.chunks_exact(width) {
                    sum.iter_mut().zip(row).for_each(|(sum, one)| *sum += *one);
                }
            })?;
        }
        backward.add(0, gradient)
    }
}
